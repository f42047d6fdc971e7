// SPDX-License-Identifier: Apache-2.0
// StreamTail: marks where a communicator's latest call ends in its stream. Calls share staging, so the next
// call, in any stream, must wait for it. Any thread.
#pragma once

#include <mutex>

#include "gpu/stream.h"

namespace rondo {

class StreamTail {
 public:
  explicit StreamTail(int device) : device_(device) {}
  /// Makes later work of the stream wait for previous calls; in a capture, for calls of the same capture.
  Status enter(gpu::Stream stream);
  Status leave(gpu::Stream stream);
  /// Whether all calls issued outside graphs have completed.
  Result<bool> passed();

 private:
  struct Mark {
    gpu::Event event;
    bool made = false;
  };
  Status record(Mark& mark, gpu::Stream stream) const;

  std::mutex mutex_;
  int device_;
  Mark direct_;
  Mark captured_;
  uint64_t capture_ = 0;  // the capture that `captured_` belongs to
};

}  // namespace rondo
