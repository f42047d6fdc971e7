// SPDX-License-Identifier: Apache-2.0
// Reductions and copies of device-accessible memory, by kernels that never wait. A DeviceFolds is built by
// one thread; launch() is thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/element.h"
#include "base/reduction.h"
#include "base/status.h"
#include "gpu/stream.h"
#include "kernels/stamp.h"

namespace rondo {

namespace device {
struct FoldList;
}  // namespace device

/// Loads the kernels onto a device ahead of the first call. Unsupported if the build has none for it.
Status load_device_kernels(int device);

/// Stamps that one launch writes or checks: their addresses, and the count and address of the data of each.
struct StampPlan {
  static constexpr size_t kMaxStamps = 64;
  struct StampEntry {
    Stamp* stamp = nullptr;
    uint64_t count = 0;
    /// When writing: the data's address for the reader's device, null if it is staged. When checking: the
    /// source to read unless the stamp points elsewhere.
    const void* data = nullptr;
  };
  bool writes = false;  // false: check the stamps before writing any result; report mismatches to `note`
  Signature signature;  // of this rank's call; counts are in the entries
  int rank = 0;         // this rank
  uint64_t* ticks = nullptr;  // counts launches
  MismatchNote* note = nullptr;
  const uint64_t* stopped = nullptr;  // when checking: nonzero once stamped addresses must not be used
  std::vector<StampEntry> entries;    // at most kMaxStamps
};

/// Independent folds of one call, with results bit-identical to reduce():
///     outs[k][i] = finish(sources[0][i] (op) sources[1][i] (op) ...), from left to right, for all k
/// Pointers must be aligned to the element, for complex types to its parts. A result may be a source of the
/// same fold, but must not overlap it partially, nor any source or result of another fold.
class DeviceFolds {
 public:
  static constexpr size_t kMaxSources = 64;
  static constexpr size_t kMaxOuts = 64;
  using Scalar = std::array<std::byte, 16>;  // one element

  /// `divisor`: divides the results, for avg.
  DeviceFolds(ElementType type, Reduction op, int divisor = 1);
  /// Multiplies source k of every fold by scalars[k] first if bit k of `scaled` is set.
  void scale(uint64_t scaled, std::span<const Scalar> scalars);
  DeviceFolds(DeviceFolds&&) noexcept;
  ~DeviceFolds();

  /// At most kMaxSources and kMaxOuts; the spans are copied.
  void add(std::span<const void* const> sources, std::span<void* const> outs, size_t count);

  /// Call after the last add(): the first kernel launch writes these stamps, or every launch checks them. A
  /// nonempty plan forces a launch even without folds.
  void stamp(const StampPlan& plan);

  /// Enqueues all folds on the stream; the device's context must be current.
  Status launch(int device, gpu::Stream stream) const;

 private:
  device::FoldList& list_with_room(size_t pointers);
  device::FoldList& add_list();
  ElementType type_;
  Reduction op_;
  int divisor_;
  uint64_t scaled_ = 0;
  std::vector<Scalar> scalars_;
  std::vector<device::FoldList> lists_;
};

}  // namespace rondo
