// SPDX-License-Identifier: Apache-2.0
#include "gpu/stream.h"

#include <algorithm>
#include <vector>

#include "base/error_kinds.h"
#include "driver.h"
#include "gpu/device.h"

namespace rondo::gpu {
namespace {

constexpr size_t kMaxAtOnce = 255;  // CUDA's limit: fewer than 256

CUstreamBatchMemOpParams params_of(const WordOperation& operation) {
  CUstreamBatchMemOpParams params{};
  const auto word = reinterpret_cast<CUdeviceptr>(operation.word);
  if (operation.type == WordOperation::Type::Wait) {
    params.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    params.waitValue.address = word;
    params.waitValue.value = operation.value;
    params.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
  } else {
    params.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    params.writeValue.address = word;
    params.writeValue.value = operation.value;
    params.writeValue.flags = CU_STREAM_WRITE_VALUE_DEFAULT;
  }
  return params;
}

}  // namespace

Status check_stream(Stream stream, int device) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  CUcontext own = nullptr;
  CUcontext context = nullptr;
  RONDO_TRY(outcome(cuda->cuCtxGetCurrent(&own), "querying the current context"));
  const CUresult result = cuda->cuStreamGetCtx(stream, &context);
  if (result == CUDA_ERROR_INVALID_HANDLE || result == CUDA_ERROR_CONTEXT_IS_DESTROYED)
    return error(ErrorKind::StreamInvalid, "stream is not a CUDA stream, or was destroyed");
  RONDO_TRY(outcome(result, "querying a stream's context"));
  if (context == own) return {};
  return error(ErrorKind::StreamInvalid,
               "stream belongs to another GPU, or another context, than the rank's, which is GPU {}", device);
}

Result<uint64_t> capture_of(Stream stream) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  CUstreamCaptureStatus capture = CU_STREAM_CAPTURE_STATUS_NONE;
  cuuint64_t number = 0;
  RONDO_TRY(outcome(cuda->cuStreamGetCaptureInfo_v2(stream, &capture, &number, nullptr, nullptr, nullptr),
                    "querying whether a stream is being captured"));
  if (capture == CU_STREAM_CAPTURE_STATUS_INVALIDATED)
    return Status(ErrorKind::CapturesDiffer, "the stream's capture into a graph has failed before this call");
  return capture == CU_STREAM_CAPTURE_STATUS_ACTIVE ? number : 0;
}

Status synchronize(Stream stream) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  return outcome(cuda->cuStreamSynchronize(stream), "waiting for a stream");
}

Result<Event> Event::create(int device, bool timed) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  const Current current(device);
  RONDO_TRY(current.status());
  CUevent event = nullptr;
  RONDO_TRY(outcome(cuda->cuEventCreate(&event, timed ? CU_EVENT_DEFAULT : CU_EVENT_DISABLE_TIMING),
                    "making an event"));
  Event made;
  made.event_ = {event, {device}};
  return made;
}

void Event::DestroyEvent::operator()(CUevent_st* event) const {
  const Current current(device);
  if (current.status().ok()) driver().value()->cuEventDestroy(event);
}

Status Event::record(Stream stream) {
  return outcome(driver().value()->cuEventRecord(event_.get(), stream), "recording an event");
}

Status Event::hold(Stream stream) const {
  return outcome(driver().value()->cuStreamWaitEvent(stream, event_.get(), 0), "making a stream wait");
}

Result<bool> Event::complete() const {
  const Current current(event_.get_deleter().device);
  RONDO_TRY(current.status());
  const CUresult result = driver().value()->cuEventQuery(event_.get());
  if (result == CUDA_ERROR_NOT_READY) return false;
  RONDO_TRY(outcome(result, "waiting for an event"));
  return true;
}

Result<double> Event::elapsed_us(const Event& earlier) const {
  const Driver& cuda = *driver().value();
  float elapsed_ms = 0;
  RONDO_TRY(outcome(cuda.cuEventSynchronize(event_.get()), "waiting for an event"));
  RONDO_TRY(outcome(cuda.cuEventElapsedTime_v1(&elapsed_ms, earlier.event_.get(), event_.get()),
                    "measuring the time between two events"));
  return static_cast<double>(elapsed_ms) * 1e3;
}

Result<Stopwatch> Stopwatch::create(int device) {
  Stopwatch made;
  RONDO_TRY_ASSIGN(made.start_, Event::create(device, true));
  RONDO_TRY_ASSIGN(made.stop_, Event::create(device, true));
  return made;
}

Result<OwnedStream> OwnedStream::create(int device) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  const Current current(device);
  RONDO_TRY(current.status());
  Stream stream = nullptr;
  RONDO_TRY(outcome(cuda->cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), "making a stream"));
  OwnedStream made;
  made.stream_ = {stream, {device}};
  return made;
}

void OwnedStream::DestroyStream::operator()(Stream stream) const {
  const Current current(device);
  if (current.status().ok()) driver().value()->cuStreamDestroy(stream);
}

Status operate(Stream stream, std::span<const WordOperation> operations) {
  std::vector<CUstreamBatchMemOpParams> params;
  while (!operations.empty()) {
    const auto now = operations.first(std::min(kMaxAtOnce, operations.size()));
    operations = operations.subspan(now.size());
    params.clear();
    for (const WordOperation& one : now) params.push_back(params_of(one));
    RONDO_TRY(outcome(
        driver().value()->cuStreamBatchMemOp(stream, static_cast<unsigned>(params.size()), params.data(), 0),
        "enqueuing a stream's waits"));
  }
  return {};
}

}  // namespace rondo::gpu
