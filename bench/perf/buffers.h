// SPDX-License-Identifier: Apache-2.0
// A rank's two buffers, in any kind of memory, and the benchmark's operations on their contents. Used by the
// rank's thread.
#pragma once

#include <memory>

#include "check.h"
#include "place.h"
#include "rondo/rondo.h"

namespace rondo::perf {

class Buffers {
 public:
  virtual ~Buffers() = default;
  virtual std::byte* send() = 0;
  virtual std::byte* recv() = 0;

  /// Zeroes everything that the place uses: sums of zeros stay finite however often they are repeated.
  virtual rondo_status_t clear(const BufferPlace& place) = 0;

  /// Zeroes the input again, as a program writes its data anew before each call.
  virtual rondo_status_t rewrite(const BufferPlace& place) = 0;

  /// Writes known data where the call reads, poison elsewhere, and guards around both buffers.
  virtual rondo_status_t prepare(const BufferPlace& place, Checker& checker, uint64_t round) = 0;

  /// After the call: adds the number of wrong elements to `wrong`, and 1 for each buffer whose guards were
  /// overwritten.
  virtual rondo_status_t count_wrong(const BufferPlace& place, Checker& checker, uint64_t round,
                                     size_t& wrong) = 0;
};

/// Sizes of the two buffers in bytes. In place, the second one holds both.
struct BufferSizes {
  size_t send = 0;
  size_t recv = 0;
  size_t unalign = 0;  // offset from the start of a page
};

}  // namespace rondo::perf
