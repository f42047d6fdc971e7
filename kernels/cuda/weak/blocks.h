// SPDX-License-Identifier: Apache-2.0
// Blocks whose threads are lanes of a simulated machine.
#pragma once

#include <functional>
#include <memory>

#include "execute.h"

namespace rondo::device {

class Blocks {
 public:
  /// The body of a launch's blocks: execute(), or a faulty variant of it.
  using Execute = void (*)(const CallList& list, uint32_t index, Block& block, Shared& shared);

  explicit Blocks(uint64_t seed, weak::Mutation mutation = {}, Execute by = execute)
      : machine_(seed, mutation), execute_(by) {}

  /// Adds the blocks of a launch, with `threads` threads each.
  void add(int device, uint32_t threads, const CallList& list, uint32_t blocks) {
    const auto shared_list = std::make_shared<CallList>(list);
    for (uint32_t index = 0; index < blocks; ++index)
      add(device, threads,
          [run = execute_, shared_list, index, shared = std::make_shared<Shared>()](Block& block) {
            run(*shared_list, index, block, *shared);
          });
  }
  /// Adds a block with another body, such as the host's part.
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
  Execute execute_;
};

}  // namespace rondo::device
