// SPDX-License-Identifier: Apache-2.0
// Completion: the end of one piece of work, which any thread may wait for.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace rondo::standin {

class Completion {
 public:
  bool done() const { return done_.load(std::memory_order_acquire) != 0; }
  void wait() const { done_.wait(0, std::memory_order_acquire); }
  void finish() {
    done_.store(1, std::memory_order_release);
    done_.notify_all();
  }

 private:
  std::atomic<uint32_t> done_{0};
};

using CompletionPtr = std::shared_ptr<Completion>;
using Completions = std::vector<CompletionPtr>;  // null: done

inline bool all_done(const Completions& completions) {
  for (const CompletionPtr& one : completions)
    if (one != nullptr && !one->done()) return false;
  return true;
}
inline void wait_for(const Completions& completions) {
  for (const CompletionPtr& one : completions)
    if (one != nullptr) one->wait();
}

}  // namespace rondo::standin
