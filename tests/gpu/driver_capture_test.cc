// SPDX-License-Identifier: Apache-2.0
// Capturing streams into graphs, what a capture forbids, and replay.
#include <thread>
#include <vector>

#include "catch.h"
#include "driver_calls.h"
#include "driver_kernels.h"

namespace rondo {
namespace {

constexpr auto kGlobal = CU_STREAM_CAPTURE_MODE_GLOBAL;
constexpr auto kThreadLocal = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
constexpr auto kRelaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

CUevent make_event() {
  CUevent event = nullptr;
  REQUIRE_CU(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  return event;
}

struct Capturing {
  explicit Capturing(CUstreamCaptureMode mode = kGlobal, unsigned flags = CU_STREAM_NON_BLOCKING)
      : stream(make_stream(flags)) {
    REQUIRE_CU(cuStreamBeginCapture, stream, mode);
  }
  CUresult end() { return CU(cuStreamEndCapture)(stream, &graph); }
  CUgraphExec instance() {
    CUgraphExec exec = nullptr;
    REQUIRE(end() == CUDA_SUCCESS);
    REQUIRE_CU(cuGraphInstantiate, &exec, graph, 0);
    return exec;
  }
  void fork(CUstream other, CUevent event) {
    REQUIRE_CU(cuEventRecord, event, stream);
    REQUIRE_CU(cuStreamWaitEvent, other, event, 0);
  }
  void join(CUstream other, CUevent event) {
    REQUIRE_CU(cuEventRecord, event, other);
    REQUIRE_CU(cuStreamWaitEvent, stream, event, 0);
  }
  CUstream stream;
  CUgraph graph = nullptr;
};

TEST_CASE("a captured fork and join is replayed a thousand times") {
  const Current current;
  const CUfunction fold = find_function(device::kFoldListKernel);
  const CUdeviceptr memory = make_memory(2048);
  const CUdeviceptr sum = make_memory(2048);
  const CUdeviceptr count = make_memory(4);
  const CUevent event = make_event();
  const CUstream other = make_stream();
  int calls = 0;

  Capturing capturing;
  REQUIRE_CU(cuMemsetD32Async, memory, 0x3F800000, 512, capturing.stream);  // 1.0F
  capturing.fork(other, event);
  REQUIRE(launch(fold, other, doubling(sum, memory, 512)) == CUDA_SUCCESS);
  REQUIRE_CU(cuStreamWriteValue32, other, count, 1, 0);
  REQUIRE_CU(
      cuLaunchHostFunc, capturing.stream, [](void* n) { ++*static_cast<int*>(n); }, &calls);
  capturing.join(other, event);
  REQUIRE_CU(cuStreamWaitValue32, capturing.stream, count, 1, CU_STREAM_WAIT_VALUE_EQ);
  REQUIRE(launch(fold, capturing.stream, doubling(sum, sum, 512)) == CUDA_SUCCESS);
  const CUgraphExec exec = capturing.instance();
  size_t nodes = 0;
  REQUIRE_CU(cuGraphGetNodes, capturing.graph, nullptr, &nodes);
  CHECK(nodes == 6);
  CHECK_CU(cuGraphDestroy, capturing.graph);
  CHECK(calls == 0);

  for (int i = 0; i < 1000; ++i) REQUIRE_CU(cuGraphLaunch, exec, i % 2 == 0 ? other : capturing.stream);
  REQUIRE_CU(cuStreamSynchronize, other);
  REQUIRE_CU(cuStreamSynchronize, capturing.stream);
  float value = 0;
  REQUIRE_CU(cuMemcpyDtoH, &value, sum + 2044, 4);
  CHECK(value == 4.0F);
  CHECK(calls == 1000);
  CHECK_CU(cuGraphExecDestroy, exec);
}

TEST_CASE("streams report that they are being captured") {
  const Current current;
  const CUstream other = make_stream();
  CUstreamCaptureStatus status{};
  cuuint64_t id = 0;
  cuuint64_t same = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* tail = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  size_t ntail = 0;
  const CUdeviceptr memory = make_memory(1);
  Capturing capturing;
  REQUIRE_CU(cuMemsetD8Async, memory, 0, 1, capturing.stream);
  capturing.fork(other, make_event());
  REQUIRE_CU(cuStreamGetCaptureInfo, other, &status, &id, &graph, &tail, &edges, &ntail);
  CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(ntail == 1);
  REQUIRE_CU(cuStreamGetCaptureInfo, capturing.stream, &status, &same, nullptr, nullptr, nullptr, nullptr);
  CHECK(id == same);
  CHECK_CU(cuStreamIsCapturing, make_stream(), &status);
  CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
  CHECK(capturing.end() == CUDA_SUCCESS);
  CHECK(capturing.graph == graph);
  CHECK_CU(cuStreamIsCapturing, other, &status);
  CHECK(status == CU_STREAM_CAPTURE_STATUS_NONE);
  CHECK(capturing.end() == CUDA_ERROR_ILLEGAL_STATE);
}

TEST_CASE("an unjoined fork fails the capture") {
  const Current current;
  const CUstream other = make_stream();
  const CUdeviceptr memory = make_memory(1);
  Capturing capturing;
  capturing.fork(other, make_event());
  REQUIRE_CU(cuMemsetD8Async, memory, 0, 1, other);
  CHECK(CU(cuStreamBeginCapture)(other, kGlobal) == CUDA_ERROR_ILLEGAL_STATE);
  CHECK(capturing.end() == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  CHECK(capturing.graph == nullptr);
  CHECK_CU(cuStreamSynchronize, other);
}

/// The call fails with `expected` and invalidates the capture.
template <class Call>
void forbidden(CUresult expected, Call call, CUstreamCaptureMode mode = kGlobal) {
  Capturing capturing(mode);
  CHECK(call(capturing) == expected);
  CHECK(capturing.end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK_CU(cuStreamSynchronize, capturing.stream);
}

TEST_CASE("a capturing stream cannot be waited for") {
  const Current current;
  const CUevent event = make_event();
  forbidden(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
            [](auto& of) { return CU(cuStreamSynchronize)(of.stream); });
  forbidden(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [](auto& of) { return CU(cuStreamQuery)(of.stream); });
  forbidden(
      CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [](auto&) { return CU(cuCtxSynchronize)(); }, kRelaxed);
  const auto with_event = [event](auto call) {
    return [event, call](auto& of) {
      REQUIRE_CU(cuEventRecord, event, of.stream);
      return call(event);
    };
  };
  forbidden(CUDA_ERROR_CAPTURED_EVENT, with_event(CU(cuEventQuery)), kRelaxed);
  forbidden(CUDA_ERROR_CAPTURED_EVENT, with_event(CU(cuEventSynchronize)), kRelaxed);
}

TEST_CASE("dependencies do not cross the boundary of a capture") {
  const Current current;
  const CUevent outside = make_event();
  const CUstream stream = make_stream();
  REQUIRE_CU(cuEventRecord, outside, stream);
  forbidden(CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
            [&](auto& of) { return CU(cuStreamWaitEvent)(of.stream, outside, 0); });
  Capturing first;
  const CUevent inside = make_event();
  REQUIRE_CU(cuEventRecord, inside, first.stream);
  forbidden(CUDA_ERROR_STREAM_CAPTURE_MERGE,
            [&](auto& of) { return CU(cuStreamWaitEvent)(of.stream, inside, 0); });
  CHECK(first.end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(CU(cuStreamWaitEvent)(stream, inside, 0) == CUDA_ERROR_CAPTURED_EVENT);
}

TEST_CASE("external events are waited for and recorded at each replay") {
  const Current current;
  const CUevent from = make_event();
  const CUevent to = make_event();
  const CUstream stream = make_stream();
  Capturing capturing;
  REQUIRE_CU(cuStreamWaitEvent, capturing.stream, from, CU_EVENT_WAIT_EXTERNAL);
  REQUIRE_CU(cuEventRecordWithFlags, to, capturing.stream, CU_EVENT_RECORD_EXTERNAL);
  const CUgraphExec exec = capturing.instance();
  for (int i = 0; i < 3; ++i) {
    Gate gate;
    gate.into(stream);
    REQUIRE_CU(cuEventRecord, from, stream);
    REQUIRE_CU(cuGraphLaunch, exec, capturing.stream);
    sleep_ms(5);
    CHECK(CU(cuEventQuery)(to) == CUDA_ERROR_NOT_READY);
    gate.open = true;
    CHECK_CU(cuEventSynchronize, to);
  }
}

CUresult allocate() {
  CUdeviceptr memory = 0;
  return CU(cuMemAlloc)(&memory, 16);
}

TEST_CASE("a capture forbids unsafe calls of its thread, unless the thread's mode is relaxed") {
  const Current current;
  const CUdeviceptr memory = make_memory(16);
  const CUevent event = make_event();
  for (const auto mode : {kGlobal, kThreadLocal}) {
    forbidden(
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [](auto&) { return allocate(); }, mode);
    forbidden(
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&](auto&) { return CU(cuMemFree)(memory); }, mode);
    forbidden(
        CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&](auto&) { return CU(cuEventQuery)(event); }, mode);
  }
  Capturing relaxed(kRelaxed);
  CHECK(allocate() == CUDA_SUCCESS);
  CHECK(relaxed.end() == CUDA_SUCCESS);

  Capturing exchanged(kGlobal);
  CUstreamCaptureMode mode = kRelaxed;
  REQUIRE_CU(cuThreadExchangeStreamCaptureMode, &mode);
  CHECK(mode == kGlobal);
  CHECK(allocate() == CUDA_SUCCESS);
  REQUIRE_CU(cuThreadExchangeStreamCaptureMode, &mode);
  CHECK(exchanged.end() == CUDA_SUCCESS);
}

/// The result of allocate() in another thread.
CUresult allocate_elsewhere(CUstreamCaptureMode mode) {
  CUresult result = CUDA_SUCCESS;
  std::thread([&] {
    const Current current;
    CU(cuThreadExchangeStreamCaptureMode)(&mode);
    result = allocate();
  }).join();
  return result;
}

TEST_CASE("unsafe calls of other threads are forbidden if both modes are global") {
  const Current current;
  forbidden(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [](auto&) { return allocate_elsewhere(kGlobal); });
  Capturing global(kGlobal);
  CHECK(allocate_elsewhere(kThreadLocal) == CUDA_SUCCESS);
  CHECK(global.end() == CUDA_SUCCESS);
  Capturing local(kThreadLocal);
  CHECK(allocate_elsewhere(kGlobal) == CUDA_SUCCESS);
  CHECK(local.end() == CUDA_SUCCESS);
}

TEST_CASE("a capture must end in the thread that began it, unless it is relaxed") {
  const Current current;
  for (const auto mode : {kGlobal, kRelaxed}) {
    Capturing capturing(mode);
    CUresult result = CUDA_SUCCESS;
    std::thread([&] {
      const Current here;
      result = capturing.end();
    }).join();
    CHECK(result == (mode == kRelaxed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD));
    CHECK(capturing.end() == (mode == kRelaxed ? CUDA_ERROR_ILLEGAL_STATE : CUDA_SUCCESS));
  }
}

TEST_CASE("the legacy stream cannot be used while a blocking stream captures") {
  const Current current;
  const CUdeviceptr memory = make_memory(16);
  Capturing free;  // on a stream that is not blocking
  CHECK_CU(cuMemsetD8Async, memory, 0, 16, nullptr);
  CHECK(free.end() == CUDA_SUCCESS);

  Capturing capturing(kRelaxed, CU_STREAM_DEFAULT);
  CUstreamCaptureStatus status{};
  CHECK(CU(cuStreamIsCapturing)(nullptr, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CHECK_CU(cuStreamIsCapturing, capturing.stream, &status);
  CHECK(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  CHECK(CU(cuMemsetD8Async)(memory, 0, 16, nullptr) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CHECK_CU(cuStreamIsCapturing, capturing.stream, &status);
  CHECK(status == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  CHECK(CU(cuMemsetD8Async)(memory, 0, 16, capturing.stream) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(capturing.end() == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(CU(cuStreamBeginCapture)(nullptr, kRelaxed) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
}

TEST_CASE("a graph's user objects are destroyed once no graph needs them") {
  const Current current;
  static std::atomic<int> destroyed;
  destroyed = 0;
  CUuserObject object = nullptr;
  const CUhostFn destroy = [](void*) { ++destroyed; };
  Capturing capturing;
  CUstreamCaptureStatus status{};
  CUgraph graph = nullptr;
  REQUIRE_CU(cuUserObjectCreate, &object, nullptr, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
  REQUIRE_CU(cuStreamGetCaptureInfo, capturing.stream, &status, nullptr, &graph, nullptr, nullptr, nullptr);
  REQUIRE_CU(cuGraphRetainUserObject, graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE);
  const CUgraphExec exec = capturing.instance();
  CHECK_CU(cuGraphDestroy, capturing.graph);
  sleep_ms(5);
  CHECK(destroyed == 0);
  CHECK_CU(cuGraphExecDestroy, exec);
  for (int i = 0; i < 10'000 && destroyed == 0; ++i) sleep_ms(1);
  CHECK(destroyed == 1);
}

}  // namespace
}  // namespace rondo
