// SPDX-License-Identifier: Apache-2.0
// Blocks whose threads are threads of the host.
#pragma once

#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "execute.h"

namespace rondo::device {

class Blocks {
 public:
  /// Adds the blocks of a launch, with `threads` threads each.
  void add(int /*device*/, uint32_t threads, const CallList& list, uint32_t blocks) {
    const auto shared_list = std::make_shared<CallList>(list);
    for (uint32_t index = 0; index < blocks; ++index)
      blocks_.push_back(std::make_unique<Started>(threads, shared_list, index));
  }
  /// Runs all blocks to completion.
  void run() {
    std::vector<std::thread> threads;
    for (const auto& block : blocks_)
      for (uint32_t thread = 0; thread < block->meeting.threads; ++thread)
        threads.emplace_back([&started = *block, thread] {
          Block self(started.meeting, thread);
          execute(*started.list, started.index, self, started.shared);
        });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  struct Started {
    Started(uint32_t threads, std::shared_ptr<const CallList> of, uint32_t at)
        : meeting(threads), list(std::move(of)), index(at) {}
    BlockMeeting meeting;
    std::shared_ptr<const CallList> list;
    uint32_t index;
    Shared shared{};
  };
  std::vector<std::unique_ptr<Started>> blocks_;
};

}  // namespace rondo::device
