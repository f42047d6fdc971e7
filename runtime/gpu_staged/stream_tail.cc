// SPDX-License-Identifier: Apache-2.0
#include "stream_tail.h"

#include "gpu/shared_memory.h"

namespace rondo {

Status StreamTail::enter(gpu::Stream stream) {
  RONDO_TRY_ASSIGN(const uint64_t capture, gpu::capture_of(stream));
  const std::lock_guard lock(mutex_);
  if (capture != 0) return captured_.made && capture == capture_ ? captured_.event.hold(stream) : Status();
  return direct_.made ? direct_.event.hold(stream) : Status();
}

Status StreamTail::leave(gpu::Stream stream) {
  RONDO_TRY_ASSIGN(const uint64_t capture, gpu::capture_of(stream));
  const std::lock_guard lock(mutex_);
  if (capture == 0) return record(direct_, stream);
  capture_ = capture;
  return record(captured_, stream);
}

Status StreamTail::record(Mark& mark, gpu::Stream stream) const {
  const gpu::OutsideCapture outside;
  if (!mark.made) {
    RONDO_TRY_ASSIGN(mark.event, gpu::Event::create(device_));
    mark.made = true;
  }
  return mark.event.record(stream);
}

Result<bool> StreamTail::passed() {
  const gpu::OutsideCapture outside;
  const std::lock_guard lock(mutex_);
  if (!direct_.made) return true;
  return direct_.event.complete();
}

}  // namespace rondo
