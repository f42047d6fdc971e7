// SPDX-License-Identifier: Apache-2.0
// SlotMemory: registered memory for the slots of one direction of a connection, in each of which a SlotHeader
// precedes the bytes. A region of its own, so that a peer's key opens its own slots and nothing else. Single
// owner; made on a thread that connects.
#pragma once

#include <memory>

#include "verbs/device.h"
#include "verbs/slot_layout.h"

namespace rondo::verbs {

class SlotMemory {
 public:
  enum class WrittenBy { Owner, Peer };
  static Result<std::unique_ptr<SlotMemory>> make(std::shared_ptr<Domain> domain, const SlotLayout& layout,
                                                  WrittenBy writer);
  ~SlotMemory();
  SlotMemory(const SlotMemory&) = delete;
  SlotMemory& operator=(const SlotMemory&) = delete;

  /// The header of a message's slot; its bytes follow.
  SlotHeader* slot(uint64_t message) const {
    return reinterpret_cast<SlotHeader*>(memory_ + layout_.offset(message));
  }
  uint64_t address() const { return reinterpret_cast<uint64_t>(memory_); }
  uint32_t local_key() const { return region_->lkey; }
  uint32_t remote_key() const { return region_->rkey; }

 private:
  SlotMemory(std::shared_ptr<Domain> domain, const SlotLayout& layout)
      : domain_(std::move(domain)), layout_(layout) {}
  Status map();
  Status register_for(WrittenBy writer);
  Status cannot_register(int cause) const;

  const std::shared_ptr<Domain> domain_;
  const SlotLayout layout_;
  std::byte* memory_ = nullptr;
  ibv_mr* region_ = nullptr;
};

}  // namespace rondo::verbs
