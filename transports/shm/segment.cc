// SPDX-License-Identifier: Apache-2.0
#include "shm/segment.h"

#include <sys/stat.h>

#include <atomic>
#include <utility>

namespace rondo::shm {
namespace {

constexpr size_t kPage = 4096;  // Linux's smallest page size

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Distance between the two ends' words, against false sharing.
constexpr size_t kApart = 64;

/// Offsets of one direction's parts; check_params() has bounded the parameters, so nothing here overflows.
struct FifoOffsets {
  explicit FifoOffsets(const AgreedParams& params)
      : stride(whole_pages(params.slot_bytes)),
        cancel_words(sizeof(ReleasedCounter)),
        exports(cancel_words + sizeof(CancelWords)),
        headers(exports + sizeof(ExportWords)),
        progress(headers + params.slots * sizeof(SlotHeader)),
        times(progress + params.slots * sizeof(SlotProgress) + kApart),
        memory(whole_pages(times + params.slots * sizeof(uint32_t))),
        end(memory + params.slots * stride) {}
  size_t stride;
  size_t cancel_words;
  size_t exports;
  size_t headers;
  size_t progress;
  size_t times;
  size_t memory;
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
          .memory = at + offsets.memory,
          .stride_bytes = offsets.stride,
          .slot_bytes = params.slot_bytes,
          .slots = params.slots};
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
