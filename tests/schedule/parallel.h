// SPDX-License-Identifier: Apache-2.0
// Runs independent work on all cores.
#pragma once

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace rondo {

/// Calls work(i) for every i below `count`, in any order, on several threads at once.
template <typename Work>
void parallel_for(size_t count, Work&& work) {
  std::atomic<size_t> next{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t)
    threads.emplace_back([&] {
      for (size_t i = next++; i < count; i = next++) work(i);
    });
  for (std::thread& thread : threads) thread.join();
}

}  // namespace rondo
