// SPDX-License-Identifier: Apache-2.0
// SlotPages: the memory for the messages of one direction of a connection (verbs/message_ring.h), and behind
// them for the message that proves a path and for notices. SlotMemory: its
// registration with a device, as a region of its own, so that a peer's key opens its own slots and nothing
// else. A connection keeps its pages when it goes on over another device. Made on a thread that connects.
#pragma once

#include <memory>

#include "verbs/device.h"
#include "verbs/message_ring.h"
#include "verbs/place_notice.h"

namespace rondo::verbs {

class SlotPages {
 public:
  static Result<std::shared_ptr<const SlotPages>> make(const RingLayout& layout);
  ~SlotPages();
  SlotPages(const SlotPages&) = delete;
  SlotPages& operator=(const SlotPages&) = delete;

  const RingLayout& layout() const { return layout_; }
  std::byte* memory() const { return memory_; }
  static constexpr uint64_t kProofBytes = 4096;  // the longest MTU
  /// Where a notice lies.
  static uint64_t notice_offset(const RingLayout& layout, uint64_t notice) {
    return layout.bytes() + kProofBytes + notice % kMaxNotices * kNoticeStride;
  }
  static uint64_t bytes(const RingLayout& layout) {
    return notice_offset(layout, 0) + kMaxNotices * kNoticeStride;
  }
  uint64_t bytes() const { return bytes(layout_); }

 private:
  static constexpr uint64_t kNoticeStride = aligned_size(kMaxNoticeBytes);
  explicit SlotPages(const RingLayout& layout) : layout_(layout) {}
  const RingLayout layout_;
  std::byte* memory_ = nullptr;
};

class SlotMemory {
 public:
  using WrittenBy = Region::WrittenBy;
  static Result<std::unique_ptr<SlotMemory>> make(std::shared_ptr<Domain> domain,
                                                  std::shared_ptr<const SlotPages> pages, WrittenBy writer);
  std::byte* at(uint64_t offset) const { return pages_->memory() + offset; }
  std::byte* proof() const { return pages_->memory() + pages_->layout().bytes(); }
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
