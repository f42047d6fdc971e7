// SPDX-License-Identifier: Apache-2.0
// SlotPages: the memory for the slots of one direction of a connection, in each of which a SlotHeader
// precedes the bytes, and behind them for the message that proves a path. SlotMemory: its registration with a
// device, as a region of its own, so that a peer's key opens its own slots and nothing else. A connection
// keeps its pages when it goes on over another device. Made on a thread that connects.
#pragma once

#include <memory>

#include "common/slot_layout.h"
#include "verbs/device.h"

namespace rondo::verbs {

class SlotPages {
 public:
  static Result<std::shared_ptr<const SlotPages>> make(const SlotLayout& layout);
  ~SlotPages();
  SlotPages(const SlotPages&) = delete;
  SlotPages& operator=(const SlotPages&) = delete;

  const SlotLayout& layout() const { return layout_; }
  std::byte* memory() const { return memory_; }
  static constexpr uint64_t kProofBytes = 4096;  // the longest MTU
  static uint64_t bytes(const SlotLayout& layout) { return layout.bytes() + kProofBytes; }
  uint64_t bytes() const { return bytes(layout_); }

 private:
  explicit SlotPages(const SlotLayout& layout) : layout_(layout) {}
  const SlotLayout layout_;
  std::byte* memory_ = nullptr;
};

class SlotMemory {
 public:
  using WrittenBy = Region::WrittenBy;
  static Result<std::unique_ptr<SlotMemory>> make(std::shared_ptr<Domain> domain,
                                                  std::shared_ptr<const SlotPages> pages, WrittenBy writer);
  /// The header of a message's slot; its bytes follow.
  SlotHeader* slot(uint64_t message) const {
    return reinterpret_cast<SlotHeader*>(pages_->memory() + pages_->layout().offset(message));
  }
  const std::byte* at(uint64_t offset) const { return pages_->memory() + offset; }
  const std::byte* proof() const { return pages_->memory() + pages_->layout().bytes(); }
  /// No device reaches it any more, and it no longer counts as locked. Its pages stay.
  void deregister() { region_.reset(); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(pages_->memory()); }
  uint32_t local_key() const { return region_->local_key(); }
  uint32_t remote_key() const { return region_->remote_key(); }

 private:
  SlotMemory(std::shared_ptr<Domain> domain, std::shared_ptr<const SlotPages> pages)
      : domain_(std::move(domain)), pages_(std::move(pages)) {}
  const std::shared_ptr<Domain> domain_;
  const std::shared_ptr<const SlotPages> pages_;
  std::unique_ptr<Region> region_;  // destroyed before its domain
};

}  // namespace rondo::verbs
