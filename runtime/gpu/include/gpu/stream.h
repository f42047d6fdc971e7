// SPDX-License-Identifier: Apache-2.0
// Streams of the user and of Rondo, and events that order them. A stream's device context must be current
// (gpu::Current) whenever the stream is used. Any thread.
#pragma once

#include <cstdint>

#include "base/status.h"

struct CUstream_st;
struct CUevent_st;

namespace rondo::gpu {

using Stream = CUstream_st*;  // a cudaStream_t or CUstream

inline const Stream kLegacyStream = nullptr;  // the default stream, which waits for all others of its device

/// InvalidArgument if the stream does not belong to the device's primary context.
Status check_stream(Stream stream, int device);

/// The id of the capture that the stream is part of; 0: none. InvalidUsage if the capture has failed.
Result<uint64_t> capture_of(Stream stream);

/// Waits until all work issued to the stream is done.
Status synchronize(Stream stream);

/// A point in a stream.
class Event {
 public:
  static Result<Event> create(int device);
  Event() = default;
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&& other) noexcept;

  Status record(Stream stream);
  /// Makes all later work on the stream wait for the event.
  Status hold(Stream stream) const;
  /// Whether all work before it is done.
  Result<bool> complete() const;

 private:
  int device_ = 0;
  CUevent_st* event_ = nullptr;
};

}  // namespace rondo::gpu
