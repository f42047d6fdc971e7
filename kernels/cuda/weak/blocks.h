// Blocks whose threads are lanes of a simulated machine.
#pragma once

#include <functional>

#include "device.h"

namespace rondo::device {

class Blocks {
 public:
  explicit Blocks(uint64_t seed, weak::Mutation mutation = {}) : machine_(seed, mutation) {}

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
