// SPDX-License-Identifier: Apache-2.0
#include "shm/segment.h"

#include <sys/stat.h>

#include <atomic>
#include <utility>

#include "base/cache_line.h"
#include "shm/short_ring.h"

namespace rondo::shm {
namespace {

constexpr size_t kPage = 4096;  // Linux's smallest page size

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

size_t whole_lines(size_t bytes) { return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes; }

/// Distance between the two ends' words, against false sharing.
constexpr size_t kApart = 64;

uint64_t parts(const AgreedParams& params) { return params.slots + MovingParts::kMost; }

/// Offsets of one direction's parts; check_params() has bounded the parameters, so nothing here overflows.
struct FifoOffsets {
  explicit FifoOffsets(const AgreedParams& params)
      : stride(whole_pages(params.slot_bytes)),
        cancel_words(sizeof(ReleasedCounter)),
        exports(cancel_words + sizeof(CancelWords)),
        headers(exports + sizeof(ExportWords)),
        progress(headers + Segment::messages(params) * sizeof(SlotHeader)),
        times(progress + Segment::messages(params) * sizeof(SlotProgress) + kApart),
        kept(whole_lines(times + Segment::messages(params) * sizeof(uint32_t)) + kApart),
        short_ring(whole_pages(kept + (1 + parts(params)) * sizeof(uint64_t))),
        slots(short_ring + whole_pages(ShortRing::kBytes)),
        end(slots + parts(params) * stride) {}
  size_t stride;
  size_t cancel_words;
  size_t exports;
  size_t headers;
  size_t progress;
  size_t times;
  size_t kept;
  size_t short_ring;
  size_t slots;
  size_t end;
};

size_t segment_bytes(const AgreedParams& params) { return kPage + 2 * FifoOffsets(params).end; }

}  // namespace

std::byte* Segment::start(int direction, const AgreedParams& params) const {
  return memory_.data() + kPage + static_cast<size_t>(direction) * FifoOffsets(params).end;
}

CancelWords& Segment::cancel_words(int direction, const AgreedParams& params) const {
  return *reinterpret_cast<CancelWords*>(start(direction, params) + FifoOffsets(params).cancel_words);
}

ExportWords& Segment::exports(int direction, const AgreedParams& params) const {
  return *reinterpret_cast<ExportWords*>(start(direction, params) + FifoOffsets(params).exports);
}

SlotProgress* Segment::progress(int direction, const AgreedParams& params) const {
  return reinterpret_cast<SlotProgress*>(start(direction, params) + FifoOffsets(params).progress);
}

uint32_t* Segment::times(int direction, const AgreedParams& params) const {
  return reinterpret_cast<uint32_t*>(start(direction, params) + FifoOffsets(params).times);
}

FifoLayout Segment::fifo(int direction, const AgreedParams& params) const {
  const FifoOffsets offsets(params);
  std::byte* const at = start(direction, params);
  return {.headers = reinterpret_cast<SlotHeader*>(at + offsets.headers),
          .released = reinterpret_cast<ReleasedCounter*>(at),
          .slot_bytes = params.slot_bytes,
          .slots = messages(params)};
}

SlotParts Segment::slots(int direction, const AgreedParams& params) const {
  const FifoOffsets offsets(params);
  return {start(direction, params) + offsets.slots, offsets.stride, parts(params)};
}

KeptParts Segment::kept(int direction, const AgreedParams& params) const {
  auto* const words = reinterpret_cast<uint64_t*>(start(direction, params) + FifoOffsets(params).kept);
  return {words, words + 1};
}

std::byte* Segment::short_ring(int direction, const AgreedParams& params) const {
  return start(direction, params) + FifoOffsets(params).short_ring;
}

std::span<std::byte> Segment::first_pages(int direction, const AgreedParams& params) const {
  return {start(direction, params), FifoOffsets(params).short_ring + ShortRing::kFirstBytes};
}

Result<Segment::Made> Segment::make(const AgreedParams& params) {
  RONDO_TRY_ASSIGN(SharedSegment::Made made, SharedSegment::make(segment_bytes(params)));
  return Made{Segment(std::move(made.segment)), std::move(made.memfd)};
}

Result<Segment> Segment::map(const Fd& memfd, const AgreedParams& params) {
  RONDO_TRY_ASSIGN(SharedSegment memory, SharedSegment::map(memfd, segment_bytes(params)));
  return Segment(std::move(memory));
}

Status Segment::refuse(const Fd& memfd, const AgreedParams& own) {
  struct stat found {};
  if (::fstat(memfd.get(), &found) != 0 || static_cast<size_t>(found.st_size) < kPage) return {};
  RONDO_TRY_ASSIGN(SharedSegment memory, SharedSegment::map_part(memfd, kPage));
  const Segment first_page(std::move(memory));
  SegmentHead* head = first_page.head();
  head->slot_bytes = own.slot_bytes;
  head->slots = own.slots;
  // Pairs with the acquire load in ShmConnection::status().
  std::atomic_ref(head->refused).store(1, std::memory_order_release);
  return {};
}

}  // namespace rondo::shm
