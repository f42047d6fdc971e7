// Blocks whose threads are lanes of a simulated machine.
#pragma once

#include <functional>
#include <memory>

#include "execute.h"

namespace rondo::device {

class Blocks {
 public:
  explicit Blocks(uint64_t seed, weak::Mutation mutation = {}) : machine_(seed, mutation) {}

  /// A block of `threads` threads that carries out a lane of the call in a channel; program and call outlive
  /// run().
  void add(int device, uint32_t threads, const Program& program, const Call& call, uint32_t channel,
           uint32_t lane) {
    add(device, threads, [&program, &call, channel, lane, shared = std::make_shared<Shared>()](Block& block) {
      LaneRun(program, channel, lane, call, block, *shared).run();
    });
  }
  /// A block of something else, the host for one.
  void add(int device, uint32_t threads, std::function<void(Block&)> body) {
    machine_.add_block(device, threads, [threads, body = std::move(body)](uint32_t thread) {
      Block self(thread, threads);
      body(self);
    });
  }
  void run() { machine_.run(); }
  const weak::Machine& machine() const { return machine_; }

 private:
  weak::Machine machine_;
};

}  // namespace rondo::device
