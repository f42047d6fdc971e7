// Reductions and copies of memory that a device reaches, by kernels that wait for nothing. A list of them is
// one thread's; launching is for any thread.
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

/// Brings the kernels onto a device, so that no call has to. Unsupported where the build has none for it.
Status load_device_kernels(int device);

/// Stamps of one launch: where they are, the elements that each speaks of, and where these are.
struct StampPlan {
  static constexpr size_t kMostStamps = 64;
  struct Entry {
    Stamp* stamp = nullptr;
    uint64_t count = 0;
    /// Written: where the reader's device sees the data, null where they are staged. Checked: the source that
    /// is read unless the stamp leads elsewhere.
    const void* data = nullptr;
  };
  bool writes = false;        // false: checks them, before anything is written; what differs goes to `note`
  Signature signature;        // of the own call; counts are the entries'
  int rank = 0;               // own
  uint64_t* ticks = nullptr;  // counts launches
  MismatchNote* note = nullptr;
  const uint64_t* stopped = nullptr;  // checked: not 0 once nobody may follow what stamps say
  std::vector<Entry> entries;         // at most kMostStamps
};

/// Folds of one call that do not depend on one another:
///     outs[k][i] = finish(sources[0][i] (op) sources[1][i] (op) ...), from left to right, for all k
/// bit for bit what reduce() computes. Pointers are aligned to their elements, complex ones to their parts.
/// Results may be sources of the same fold, but not overlap one otherwise, nor those of other folds.
class DeviceFolds {
 public:
  static constexpr size_t kMostSources = 64;
  static constexpr size_t kMostOuts = 64;
  using Scalar = std::array<std::byte, 16>;  // one element

  /// `divisor`: what results are divided by, for avg.
  DeviceFolds(ElementType type, Reduction op, int divisor = 1);
  /// Source k of every fold is multiplied by scalars[k] first, where bit k of `scaled` is set.
  void scale(uint64_t scaled, std::span<const Scalar> scalars);
  DeviceFolds(DeviceFolds&&) noexcept;
  ~DeviceFolds();

  /// At most kMostSources and kMostOuts; the spans are read now.
  void add(std::span<const void* const> sources, std::span<void* const> outs, size_t count);

  /// After the last add(): the first launch writes these stamps, or all check them. Where there are any,
  /// there is a launch, folds or not.
  void stamp(const StampPlan& plan);

  /// All of them, in the stream's order; the device's context is current.
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
