// Streams of the user and of Rondo, and events that order them. Where a stream is used, its device's context is
// current (gpu::Current). Any thread.
#pragma once

#include <cstdint>

#include "base/status.h"

struct CUstream_st;
struct CUevent_st;

namespace rondo::gpu {

using Stream = CUstream_st*;  // a cudaStream_t or CUstream

inline const Stream kLegacyStream = nullptr;  // the default one, which waits for all others of its device

/// InvalidArgument where the stream is not one of the device's primary context.
Status check_stream(Stream stream, int device);

/// A number of the graph into which what is issued to the stream is being captured; 0: none. InvalidUsage where
/// the capture has failed.
Result<uint64_t> capture_of(Stream stream);

/// Waits until all that was issued is done.
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
  /// What is issued to the stream from now on waits for the event.
  Status hold(Stream stream) const;
  /// Whether all before it is done.
  Result<bool> complete() const;

 private:
  int device_ = 0;
  CUevent_st* event_ = nullptr;
};

}  // namespace rondo::gpu
