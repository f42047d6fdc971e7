// A rank's two buffers, and what the benchmark does with their contents, in whichever memory they lie. Used
// by the rank's thread.
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

  /// Zeros in all that the place uses: sums of them stay finite however often they are repeated.
  virtual rondo_status_t clear(const Place& place) = 0;

  /// Known data where the call reads, the poison elsewhere, and guards around both buffers.
  virtual rondo_status_t prepare(const Place& place, Checker& checker, uint64_t round) = 0;

  /// After the call: adds the elements that are not as they must be, and 1 for each buffer with a guard that
  /// was written to.
  virtual rondo_status_t count_wrong(const Place& place, Checker& checker, uint64_t round, size_t& wrong) = 0;
};

/// Bytes of the two buffers. In place the second one holds both.
struct BufferSizes {
  size_t send = 0;
  size_t recv = 0;
  size_t unalign = 0;  // past a page's start
};

}  // namespace rondo::perf
