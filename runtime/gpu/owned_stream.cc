// SPDX-License-Identifier: Apache-2.0
#include "gpu/owned_stream.h"

#include <utility>

#include "driver.h"
#include "gpu/device.h"

namespace rondo::gpu {

Result<OwnedStream> OwnedStream::create(int device) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  const Current current(device);
  RONDO_TRY(current.status());
  OwnedStream made;
  made.device_ = device;
  RONDO_TRY(outcome(cuda->cuStreamCreate(&made.stream_, CU_STREAM_NON_BLOCKING), "making a stream"));
  return made;
}

OwnedStream::~OwnedStream() {
  if (stream_ == nullptr) return;
  const Current current(device_);
  if (current.status().ok()) driver().value()->cuStreamDestroy(stream_);
}

OwnedStream::OwnedStream(OwnedStream&& other) noexcept { *this = std::move(other); }

OwnedStream& OwnedStream::operator=(OwnedStream&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(stream_, other.stream_);
  return *this;
}

}  // namespace rondo::gpu
