// SPDX-License-Identifier: Apache-2.0
// Streams of the user and of Rondo, and events and words of memory that order them. A stream's device context
// must be current (gpu::Current) whenever the stream is used. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

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
  /// `timed`: for elapsed_us().
  static Result<Event> create(int device, bool timed = false);

  Status record(Stream stream);
  /// Makes all later work on the stream wait for the event.
  Status hold(Stream stream) const;
  /// Whether all work before it is done.
  Result<bool> complete() const;
  /// Waits for the event; microseconds since `earlier`. Both are timed.
  Result<double> elapsed_us(const Event& earlier) const;

 private:
  struct DestroyEvent {
    int device;
    void operator()(CUevent_st* event) const;
  };
  std::unique_ptr<CUevent_st, DestroyEvent> event_;
};

/// The time between two points in a stream.
class Stopwatch {
 public:
  static Result<Stopwatch> create(int device);

  Status start(Stream stream) { return start_.record(stream); }
  Status stop(Stream stream) { return stop_.record(stream); }
  /// Waits for the second point; microseconds since the first.
  Result<double> elapsed_us() const { return stop_.elapsed_us(start_); }

 private:
  Event start_;
  Event stop_;
};

/// A stream that does not synchronize with the default stream.
class OwnedStream {
 public:
  static Result<OwnedStream> create(int device);

  Stream get() const { return stream_.get(); }

 private:
  struct DestroyStream {
    int device;
    void operator()(Stream stream) const;
  };
  std::unique_ptr<CUstream_st, DestroyStream> stream_;
};

/// An operation of a stream on a word of memory. A waiting stream occupies no resources of the device.
struct WordOperation {
  enum class Type {
    Write,  // stores `value`, after all previous work of the stream
    Wait,   // until the word is at least `value`
  };
  Type type = Type::Write;
  uint32_t* word = nullptr;  // its address on the device
  uint32_t value = 0;
};

/// Issues the operations in stream order. The device's context must be current.
Status operate(Stream stream, std::span<const WordOperation> operations);

}  // namespace rondo::gpu
