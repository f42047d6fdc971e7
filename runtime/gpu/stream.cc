// SPDX-License-Identifier: Apache-2.0
#include "gpu/stream.h"

#include <utility>

#include "driver.h"
#include "gpu/device.h"

namespace rondo::gpu {

Status check_stream(Stream stream, int device) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  CUcontext own = nullptr;
  CUcontext context = nullptr;
  RONDO_TRY(outcome(cuda->cuCtxGetCurrent(&own), "querying the current context"));
  const CUresult result = cuda->cuStreamGetCtx(stream, &context);
  if (result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
    return error(Code::InvalidArgument, "stream is not a CUDA stream, or was destroyed");
  RONDO_TRY(outcome(result, "querying a stream's context"));
  if (context == own) return {};
  return error(Code::InvalidArgument,
               "stream belongs to another GPU, or another context, than the rank's, which is GPU {}", device);
}

Result<uint64_t> capture_of(Stream stream) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t number = 0;
  RONDO_TRY(outcome(cuda->cuStreamGetCaptureInfo_v2(stream, &capture, &number, nullptr, nullptr, nullptr),
                    "querying whether a stream is being captured"));
  if (capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    return Status(Code::InvalidUsage, "the stream's capture into a graph has failed before this call");
  return capture == CU_STREAM_CAPTURE_STATUS_ACTIVE ? number : 0;
}

Status synchronize(Stream stream) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  return outcome(cuda->cuStreamSynchronize(stream), "waiting for a stream");
}

Result<Event> Event::create(int device) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  const Current current(device);
  RONDO_TRY(current.status());
  Event event;
  event.device_ = device;
  RONDO_TRY(outcome(cuda->cuEventCreate(&event.event_, CU_EVENT_DISABLE_TIMING), "making an event"));
  return event;
}

Event::~Event() {
  if (event_ == nullptr) return;
  const Current current(device_);
  if (current.status().ok()) driver().value()->cuEventDestroy(event_);
}

Event::Event(Event&& other) noexcept { *this = std::move(other); }

Event& Event::operator=(Event&& other) noexcept {
  std::swap(device_, other.device_);
  std::swap(event_, other.event_);
  return *this;
}

Status Event::record(Stream stream) {
  return outcome(driver().value()->cuEventRecord(event_, stream), "recording an event");
}

Status Event::hold(Stream stream) const {
  return outcome(driver().value()->cuStreamWaitEvent(stream, event_, 0), "making a stream wait");
}

Result<bool> Event::complete() const {
  const Current current(device_);
  RONDO_TRY(current.status());
  const CUresult result = driver().value()->cuEventQuery(event_);
  if (result == CUDA_ERROR_NOT_READY) return false;
  RONDO_TRY(outcome(result, "waiting for an event"));
  return true;
}

}  // namespace rondo::gpu
