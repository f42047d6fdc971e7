// SPDX-License-Identifier: Apache-2.0
#include "kernels/device_folds.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "device_kernels.h"
#include "kernels.h"

namespace rondo {
namespace {

constexpr uint64_t kMinBytes =
    8 * 1024;  // per block: with fewer, starting the block costs more than it gains

uint64_t bytes_of(const device::FoldList& list) {
  uint64_t elements = 0;
  for (uint32_t i = 0; i < list.nfolds; ++i) elements += list.folds[i].count;
  return elements * element_info(list.type).bytes;
}

/// Fills in everything but the stamps themselves.
void begin_stamps(device::StampList& stamps, const StampPlan& plan) {
  stamps.signature = plan.signature;
  stamps.rank = static_cast<uint64_t>(plan.rank);
  stamps.ticks = plan.ticks;
  stamps.note = plan.note;
  stamps.stopped = plan.stopped;
  stamps.writes = plan.writes ? 1 : 0;
}

uint8_t new_pointer(device::FoldList& list, const void* pointer) {
  if (pointer == nullptr) return device::StampList::kNoPointer;
  list.pointers[list.npointers] = const_cast<void*>(pointer);  // read only
  return static_cast<uint8_t>(list.npointers++);
}

/// Index of `pointer` among the list's pointers, or kNoPointer.
uint8_t source(const device::FoldList& list, const void* pointer) {
  const auto* const end = list.pointers + list.npointers;
  const auto* const found = std::find(list.pointers, end, pointer);
  return found == end ? device::StampList::kNoPointer : static_cast<uint8_t>(found - list.pointers);
}

}  // namespace

DeviceFolds::DeviceFolds(ElementType type, Reduction op, int divisor)
    : type_(type), op_(op), divisor_(divisor) {}
DeviceFolds::DeviceFolds(DeviceFolds&&) noexcept = default;
DeviceFolds::~DeviceFolds() = default;

void DeviceFolds::scale(uint64_t scaled, std::span<const Scalar> scalars) {
  scaled_ = scaled;
  scalars_.assign(scalars.begin(), scalars.end());
}

device::FoldList& DeviceFolds::list_with_room(size_t pointers) {
  using device::FoldList;
  if (!lists_.empty()) {
    FoldList& last = lists_.back();
    if (last.nfolds < FoldList::kMaxFolds && last.npointers + pointers <= FoldList::kMaxPointers) return last;
  }
  return add_list();
}

device::FoldList& DeviceFolds::add_list() {
  device::FoldList& list = lists_.emplace_back();
  list.type = type_;
  list.op = op_;
  list.divisor = divisor_;
  static_assert(sizeof(Scalar) == sizeof(device::Scalar));
  if (!scalars_.empty()) std::memcpy(list.scalars, scalars_.data(), scalars_.size() * sizeof(Scalar));
  return list;
}

void DeviceFolds::stamp(const StampPlan& plan) {
  static_assert(StampPlan::kMaxStamps == device::StampList::kMaxStamps);
  if (lists_.empty() && !plan.entries.empty()) add_list();
  for (device::FoldList& list : lists_) {
    begin_stamps(list.stamps, plan);
    if (plan.writes && &list != &lists_.front()) continue;
    for (const StampPlan::StampEntry& entry : plan.entries) {
      device::StampList& stamps = list.stamps;
      stamps.pointers[stamps.nstamps] =
          plan.writes ? new_pointer(list, entry.data) : source(list, entry.data);
      stamps.entries[stamps.nstamps++] = {entry.stamp, entry.count};
    }
  }
}

void DeviceFolds::add(std::span<const void* const> sources, std::span<void* const> outs, size_t count) {
  if (count == 0 || outs.empty()) return;
  device::FoldList& list = list_with_room(sources.size() + outs.size());
  device::FoldList::Fold& fold = list.folds[list.nfolds++];
  fold.count = count;
  fold.scaled = scaled_;
  fold.sources = static_cast<uint16_t>(list.npointers);
  fold.nsources = static_cast<uint16_t>(sources.size());
  for (const void* source : sources)
    list.pointers[list.npointers++] = const_cast<void*>(source);  // read only
  fold.outs = static_cast<uint16_t>(list.npointers);
  fold.nouts = static_cast<uint16_t>(outs.size());
  for (void* out : outs) list.pointers[list.npointers++] = out;
}

Status DeviceFolds::launch(int device, gpu::Stream stream) const {
  RONDO_TRY_ASSIGN(const auto kernel, device_kernel(DeviceKernel::FoldList, device));
  for (const device::FoldList& list : lists_) {
    const uint64_t wanted = std::max<uint64_t>(1, (bytes_of(list) + kMinBytes - 1) / kMinBytes);
    const auto blocks = static_cast<uint32_t>(std::min<uint64_t>(wanted, kernel.resident_blocks));
    RONDO_TRY(gpu::launch(kernel.kernel, {.blocks = blocks, .threads = device::kMaxThreads}, stream, &list));
  }
  return {};
}

}  // namespace rondo
