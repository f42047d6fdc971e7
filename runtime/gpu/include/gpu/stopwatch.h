// SPDX-License-Identifier: Apache-2.0
// Time measurements on the GPU. The device's context must be current. Any thread.
#pragma once

#include "base/status.h"
#include "gpu/stream.h"

namespace rondo::gpu {

/// The time between two points in a stream.
class Stopwatch {
 public:
  static Result<Stopwatch> create(int device);
  Stopwatch() = default;
  ~Stopwatch();
  Stopwatch(Stopwatch&& other) noexcept;
  Stopwatch& operator=(Stopwatch&& other) noexcept;

  Status start(Stream stream);
  Status stop(Stream stream);
  /// Waits for the second point; microseconds since the first.
  Result<double> elapsed_us() const;

 private:
  int device_ = 0;
  CUevent_st* start_ = nullptr;
  CUevent_st* stop_ = nullptr;
};

}  // namespace rondo::gpu
