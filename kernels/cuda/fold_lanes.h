// SPDX-License-Identifier: Apache-2.0
// The loops of fold() over plain memory, for one type and operation. If all pointers have the same offset
// modulo 16 bytes, lanes move whole Packs, and only the ends element by element. Several Packs are loaded
// before the first is used, since a lane that waits for memory does nothing else.
#pragma once

#include "line_folding.h"
#include "pack_math.h"

namespace rondo::device {

inline constexpr int kAnyNumber = 0;  // number of sources known only at run time

template <class T, Reduction kOp, int kSources>
class Folding {
 public:
  RONDO_DEVICE Folding(const FoldTask& task, LaneIndex lane) : math_(task), task_(task), lane_(lane) {}

  RONDO_DEVICE void run() {
    const uint64_t head = elements_to_boundary();
    const uint64_t packs = (task_.count - head) / kElements;
    const uint64_t tail = head + packs * kElements;
    for (uint64_t i = lane_.index; i < head; i += lane_.count) fold_element(i);
    fold_packs(head, packs);
    for (uint64_t i = tail + lane_.index; i < task_.count; i += lane_.count) fold_element(i);
  }

 private:
  using Math = PackMath<T, kOp>;
  using Values = typename Math::Values;
  static constexpr int kElements = Math::kElements;
  static constexpr uint32_t kInFlight =
      kSources == kAnyNumber || kElements > 8 ? 2 : 4;  // Packs of each source

  RONDO_DEVICE int nsources() const { return kSources == kAnyNumber ? task_.nsources : kSources; }
  RONDO_DEVICE const T* source(int k) const { return static_cast<const T*>(task_.sources[k]); }
  RONDO_DEVICE T* out(int k) const { return static_cast<T*>(task_.outs[k]); }

  /// Elements before the first Pack boundary; all elements if the pointers' offsets from it differ.
  RONDO_DEVICE uint64_t elements_to_boundary() const {
    const uint64_t place = bits_as<uint64_t>(task_.outs[0]) % sizeof(Pack);
    bool alike = place % sizeof(T) == 0;
    for (int k = 1; k < task_.nouts; ++k) alike &= bits_as<uint64_t>(task_.outs[k]) % sizeof(Pack) == place;
    for (int k = 0; k < nsources(); ++k) alike &= bits_as<uint64_t>(task_.sources[k]) % sizeof(Pack) == place;
    const uint64_t head = (sizeof(Pack) - place) % sizeof(Pack) / sizeof(T);
    return alike && head < task_.count ? head : task_.count;
  }

  RONDO_DEVICE void fold_element(uint64_t i) const {
    auto value = math_.read(0, device::read(source(0) + i));
    for (int k = 1; k < nsources(); ++k)
      value = math_.combine(value, math_.read(k, device::read(source(k) + i)));
    const T result = math_.finished(value);
    for (int k = 0; k < task_.nouts; ++k) device::write(out(k) + i, result);
  }

  RONDO_DEVICE Pack load_pack(int k, uint64_t element) const {
    return device::read(reinterpret_cast<const Pack*>(source(k) + element));
  }
  RONDO_DEVICE void write(const Values& values, uint64_t element) const {
    const Pack pack = math_.pack_of(values);
    for (int k = 0; k < task_.nouts; ++k) device::write(reinterpret_cast<Pack*>(out(k) + element), pack);
  }

  /// Folds kCount Packs that are `stride` elements apart.
  template <uint32_t kCount>
  RONDO_DEVICE void fold_some(uint64_t element, uint64_t stride) const {
    Pack loaded[kCount];
    Values values[kCount];
    for (uint32_t u = 0; u < kCount; ++u) loaded[u] = load_pack(0, element + u * stride);
    for (uint32_t u = 0; u < kCount; ++u) values[u] = math_.values_of(0, loaded[u]);
    for (int k = 1; k < nsources(); ++k) {
      for (uint32_t u = 0; u < kCount; ++u) loaded[u] = load_pack(k, element + u * stride);
      for (uint32_t u = 0; u < kCount; ++u)
        values[u] = math_.combine(values[u], math_.values_of(k, loaded[u]));
    }
    for (uint32_t u = 0; u < kCount; ++u) write(values[u], element + u * stride);
  }

  RONDO_DEVICE void fold_packs(uint64_t first, uint64_t packs) const {
    const uint64_t stride = uint64_t{lane_.count} * kElements;
    uint64_t pack = lane_.index;
    for (; pack + (kInFlight - 1) * uint64_t{lane_.count} < packs; pack += kInFlight * uint64_t{lane_.count})
      fold_some<kInFlight>(first + pack * kElements, stride);
    for (; pack < packs; pack += lane_.count) fold_some<1>(first + pack * kElements, stride);
  }

  Math math_;
  const FoldTask& task_;
  LaneIndex lane_;
};

/// Specialised for two sources, as in a step of a ring or tree; more occur in a fan-in.
template <class T, Reduction kOp>
RONDO_DEVICE_CALLED bool fold_with(const FoldTask& task, LaneIndex lane) {
  if (task.lines != nullptr) return fold_lines<PackMath<T, kOp>>(task, lane);
  if (task.nsources == 2)
    Folding<T, kOp, 2>(task, lane).run();
  else
    Folding<T, kOp, kAnyNumber>(task, lane).run();
  return true;
}

/// A single source is not combined, so the operation does not matter.
template <class T>
RONDO_DEVICE_CALLED bool fold_one(const FoldTask& task, LaneIndex lane) {
  if (task.lines != nullptr) return fold_lines<PackMath<T, Reduction::Sum>>(task, lane);
  Folding<T, Reduction::Sum, 1>(task, lane).run();
  return true;
}

template <class T>
RONDO_DEVICE bool fold_arithmetic(const FoldTask& task, LaneIndex lane) {
  if (task.nsources == 1) return fold_one<T>(task, lane);
  if (task.op == Reduction::Prod) return fold_with<T, Reduction::Prod>(task, lane);
  return fold_with<T, Reduction::Sum>(task, lane);
}

template <class T>
RONDO_DEVICE bool fold_ordered(const FoldTask& task, LaneIndex lane) {
  if (task.nsources != 1 && task.op == Reduction::Min) return fold_with<T, Reduction::Min>(task, lane);
  if (task.nsources != 1 && task.op == Reduction::Max) return fold_with<T, Reduction::Max>(task, lane);
  return fold_arithmetic<T>(task, lane);
}

/// Signed and unsigned results have the same bits, except of minima, maxima and what is divided.
template <class T>
RONDO_DEVICE bool fold_integers(const FoldTask& task, LaneIndex lane) {
  using Bits = std::make_unsigned_t<T>;
  if (task.nsources == 1) return fold_one<T>(task, lane);
  switch (task.op) {
    case Reduction::Min: return fold_with<T, Reduction::Min>(task, lane);
    case Reduction::Max: return fold_with<T, Reduction::Max>(task, lane);
    case Reduction::Prod: return fold_with<Bits, Reduction::Prod>(task, lane);
    case Reduction::BitAnd: return fold_with<Bits, Reduction::BitAnd>(task, lane);
    case Reduction::BitOr: return fold_with<Bits, Reduction::BitOr>(task, lane);
    case Reduction::BitXor: return fold_with<Bits, Reduction::BitXor>(task, lane);
    case Reduction::LogicalAnd: return fold_with<Bits, Reduction::LogicalAnd>(task, lane);
    case Reduction::LogicalOr: return fold_with<Bits, Reduction::LogicalOr>(task, lane);
    case Reduction::LogicalXor: return fold_with<Bits, Reduction::LogicalXor>(task, lane);
    default: return fold_with<T, Reduction::Sum>(task, lane);
  }
}

}  // namespace rondo::device
