// SPDX-License-Identifier: Apache-2.0
// Streams owned by Rondo. Any thread.
#pragma once

#include "base/status.h"
#include "gpu/stream.h"

namespace rondo::gpu {

/// A stream that does not synchronize with the default stream.
class OwnedStream {
 public:
  static Result<OwnedStream> create(int device);
  OwnedStream() = default;
  ~OwnedStream();
  OwnedStream(OwnedStream&& other) noexcept;
  OwnedStream& operator=(OwnedStream&& other) noexcept;

  Stream get() const { return stream_; }

 private:
  int device_ = 0;
  Stream stream_ = nullptr;
};

}  // namespace rondo::gpu
