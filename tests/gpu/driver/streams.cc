// SPDX-License-Identifier: Apache-2.0
// Stream calls.
#include <algorithm>

#include "graph.h"
#include "stream.h"

namespace rondo::standin {
namespace {

CUresult create(CUstream* stream, unsigned flags, int priority) {
  Context* context = nullptr;
  STANDIN_REQUIRE(stream != nullptr, CUDA_ERROR_INVALID_VALUE);
  STANDIN_REQUIRE((flags & ~unsigned{CU_STREAM_NON_BLOCKING}) == 0, CUDA_ERROR_INVALID_VALUE);
  STANDIN_TRY(use_context(context));
  *stream = driver().streams.add(make_stream(*context, flags, std::clamp(priority, -5, 0)));
  return CUDA_SUCCESS;
}

template <class Value, class Read>
CUresult get(CUstream handle, Value* value, Read read) {
  StreamPtr stream;
  STANDIN_REQUIRE(value != nullptr, CUDA_ERROR_INVALID_VALUE);
  STANDIN_TRY(find_stream(handle, stream));
  *value = read(*stream);
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuStreamCreate(CUstream* stream, unsigned flags) {
  return call(__func__, [&](Lock&) { return create(stream, flags, 0); });
}

CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return call(__func__, [&](Lock&) { return create(stream, flags, priority); });
}

CUresult cuStreamDestroy(CUstream handle) {
  return call(__func__, [&](Lock&) {
    StreamPtr stream;
    STANDIN_TRY(find_stream(handle, stream));
    STANDIN_REQUIRE(driver().streams.remove(stream.get()), CUDA_ERROR_INVALID_HANDLE);
    if (stream->capture != nullptr) leave_capture(*stream);
    close_stream(*stream);
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamSynchronize(CUstream handle) {
  return call(__func__, [&](Lock& lock) {
    StreamPtr stream;
    STANDIN_TRY(find_stream(handle, stream));
    STANDIN_TRY(check_not_capturing(*stream));
    STANDIN_TRY(check_unsafe());
    wait_unlocked(lock, work_of(*stream));
    return static_cast<CUresult>(stream->context->error.load());
  });
}

CUresult cuStreamQuery(CUstream handle) {
  return call(__func__, [&](Lock&) {
    StreamPtr stream;
    STANDIN_TRY(find_stream(handle, stream));
    STANDIN_TRY(check_not_capturing(*stream));
    STANDIN_TRY(check_unsafe());
    return all_done(work_of(*stream)) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  return call(__func__, [&](Lock&) {
    return get(handle, context, [](const Stream& stream) { return stream.context; });
  });
}

CUresult cuStreamGetDevice(CUstream handle, CUdevice* device) {
  return call(__func__, [&](Lock&) {
    return get(handle, device, [](const Stream& stream) { return stream.context->device->ordinal; });
  });
}

CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  return call(__func__,
              [&](Lock&) { return get(handle, flags, [](const Stream& stream) { return stream.flags; }); });
}

CUresult cuStreamGetPriority(CUstream handle, int* priority) {
  return call(__func__, [&](Lock&) {
    return get(handle, priority, [](const Stream& stream) { return stream.priority; });
  });
}

CUresult cuStreamGetId(CUstream handle, unsigned long long* id) {
  return call(__func__,
              [&](Lock&) { return get(handle, id, [](const Stream& stream) { return stream.id; }); });
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  return call(__func__, [&](Lock&) {
    StreamPtr stream;
    STANDIN_REQUIRE(function != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(find_stream(handle, stream));
    return submit(*stream, CU_GRAPH_NODE_TYPE_HOST, [context = stream->context, function, data] {
      if (context->failed()) return;
      in_host_function() = true;
      function(data);
      in_host_function() = false;
    });
  });
}
