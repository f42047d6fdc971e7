// StreamTail: where the calls of a communicator end in the streams that carried them. They share staging, so
// the next call begins behind it, in whatever stream. Any thread.
#pragma once

#include <mutex>

#include "gpu/stream.h"

namespace rondo {

class StreamTail {
 public:
  explicit StreamTail(int device) : device_(device) {}
  /// What comes to the stream waits for the calls before. A graph's calls wait for those of the same capture.
  Status enter(gpu::Stream stream);
  Status leave(gpu::Stream stream);
  /// Whether all that was issued, other than into graphs, is done.
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
  uint64_t capture_ = 0;  // whose `captured_` is
};

}  // namespace rondo
