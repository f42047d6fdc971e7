// Blocks whose threads are threads of the host.
#pragma once

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "device.h"

namespace rondo::device {

class Blocks {
 public:
  /// A block of `threads` threads, which run body(its Block).
  void add(int /*device*/, uint32_t threads, std::function<void(Block&)> body) {
    blocks_.push_back({std::make_unique<BlockMeeting>(threads), std::move(body)});
  }
  /// Runs all of them to their ends.
  void run() {
    std::vector<std::thread> threads;
    for (const Started& block : blocks_)
      for (uint32_t thread = 0; thread < block.meeting->threads; ++thread)
        threads.emplace_back([&block, thread] {
          Block self(*block.meeting, thread);
          block.body(self);
        });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  struct Started {
    std::unique_ptr<BlockMeeting> meeting;
    std::function<void(Block&)> body;
  };
  std::vector<Started> blocks_;
};

}  // namespace rondo::device
