// Blocks whose threads are threads of the host.
#pragma once

#include <memory>
#include <thread>
#include <vector>

#include "execute.h"

namespace rondo::device {

class Blocks {
 public:
  /// A block of `threads` threads that carries out a lane of the call in a channel; program and call outlive
  /// run().
  void add(int /*device*/, uint32_t threads, const Program& program, const Call& call, uint32_t channel,
           uint32_t lane) {
    blocks_.push_back(std::make_unique<Started>(threads, Job{&program, &call, channel, lane}));
  }
  /// Runs all of them to their ends.
  void run() {
    std::vector<std::thread> threads;
    for (const auto& block : blocks_)
      for (uint32_t thread = 0; thread < block->meeting.threads; ++thread)
        threads.emplace_back([&started = *block, thread] {
          Block self(started.meeting, thread);
          const Job& job = started.job;
          LaneRun(*job.program, job.channel, job.lane, *job.call, self, started.shared).run();
        });
    for (std::thread& thread : threads) thread.join();
  }

 private:
  struct Started {
    Started(uint32_t threads, const Job& of) : meeting(threads), job(of) {}
    BlockMeeting meeting;
    Job job;
    Shared shared{};
  };
  std::vector<std::unique_ptr<Started>> blocks_;
};

}  // namespace rondo::device
