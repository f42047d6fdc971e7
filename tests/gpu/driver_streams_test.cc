// SPDX-License-Identifier: Apache-2.0
// Order of work on streams, and events.
#include <atomic>
#include <vector>

#include "catch.h"
#include "driver_calls.h"

namespace rondo {
namespace {

TEST_CASE("a stream does its work in order") {
  const Current current;
  const CUstream stream = make_stream();
  const CUdeviceptr memory = make_memory(4096);
  std::vector<unsigned> out(1024);
  for (unsigned round = 0; round < 50; ++round) {
    REQUIRE_CU(cuMemsetD32Async, memory, round, 1024, stream);
    REQUIRE_CU(cuMemcpyDtoHAsync, out.data(), memory, 4096, stream);
    REQUIRE_CU(cuMemsetD32Async, memory, 77, 1024, stream);
    REQUIRE_CU(cuStreamSynchronize, stream);
    CHECK(out[1023] == round);
  }
  CHECK_CU(cuStreamQuery, stream);
  CHECK_CU(cuStreamDestroy, stream);
}

TEST_CASE("streams wait for events of one another") {
  const Current current;
  const CUstream first = make_stream();
  const CUstream second = make_stream();
  CUevent event = nullptr;
  REQUIRE_CU(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  CHECK_CU(cuEventQuery, event);
  CHECK_CU(cuStreamWaitEvent, second, event, 0);
  CHECK_CU(cuStreamSynchronize, second);

  Gate gate;
  gate.into(first);
  REQUIRE_CU(cuEventRecord, event, first);
  REQUIRE_CU(cuStreamWaitEvent, second, event, 0);
  sleep_ms(10);
  CHECK(CU(cuEventQuery)(event) == CUDA_ERROR_NOT_READY);
  CHECK(CU(cuStreamQuery)(second) == CUDA_ERROR_NOT_READY);
  gate.open = true;
  CHECK_CU(cuStreamSynchronize, second);
  CHECK_CU(cuEventQuery, event);
  CHECK_CU(cuEventSynchronize, event);
}

TEST_CASE("the legacy stream and blocking streams wait for each other") {
  const Current current;
  const CUstream blocking = make_stream(CU_STREAM_DEFAULT);
  const CUstream other = make_stream(CU_STREAM_NON_BLOCKING);
  const CUdeviceptr memory = make_memory(64);
  Gate gate;
  gate.into(blocking);
  REQUIRE_CU(cuMemsetD8Async, memory, 1, 64, nullptr);
  REQUIRE_CU(cuMemsetD8Async, memory, 2, 64, CU_STREAM_PER_THREAD);
  REQUIRE_CU(cuMemsetD8Async, memory, 2, 64, other);
  CHECK_CU(cuStreamSynchronize, other);
  CHECK(CU(cuStreamQuery)(nullptr) == CUDA_ERROR_NOT_READY);
  CHECK(CU(cuStreamQuery)(CU_STREAM_PER_THREAD) == CUDA_ERROR_NOT_READY);
  gate.open = true;
  CHECK_CU(cuStreamSynchronize, CU_STREAM_PER_THREAD);
  CHECK_CU(cuStreamSynchronize, CU_STREAM_LEGACY);

  Gate legacy;
  legacy.into(nullptr);
  REQUIRE_CU(cuMemsetD8Async, memory, 1, 64, blocking);
  sleep_ms(10);
  CHECK(CU(cuStreamQuery)(blocking) == CUDA_ERROR_NOT_READY);
  legacy.open = true;
  CHECK_CU(cuCtxSynchronize);
}

TEST_CASE("time passes between events") {
  const Current current;
  const CUstream stream = make_stream();
  CUevent start = nullptr;
  CUevent end = nullptr;
  float elapsed_ms = 0;
  REQUIRE_CU(cuEventCreate, &start, CU_EVENT_DEFAULT);
  REQUIRE_CU(cuEventCreate, &end, CU_EVENT_DEFAULT);
  CHECK(CU(cuEventElapsedTime)(&elapsed_ms, start, end) == CUDA_ERROR_INVALID_HANDLE);
  REQUIRE_CU(cuEventRecord, start, stream);
  REQUIRE_CU(
      cuLaunchHostFunc, stream, [](void*) { sleep_ms(20); }, nullptr);
  REQUIRE_CU(cuEventRecord, end, stream);
  CHECK(CU(cuEventElapsedTime)(&elapsed_ms, start, end) == CUDA_ERROR_NOT_READY);
  REQUIRE_CU(cuEventSynchronize, end);
  REQUIRE_CU(cuEventElapsedTime, &elapsed_ms, start, end);
  CHECK(elapsed_ms >= 19);
  CHECK_CU(cuEventDestroy, start);
  CHECK(CU(cuEventQuery)(start) == CUDA_ERROR_INVALID_HANDLE);
}

TEST_CASE("host functions must not call the driver") {
  const Current current;
  const CUstream stream = make_stream();
  std::atomic<int> said = -1;
  REQUIRE_CU(
      cuLaunchHostFunc, stream,
      [](void* out) { static_cast<std::atomic<int>*>(out)->store(CU(cuStreamQuery)(nullptr)); }, &said);
  REQUIRE_CU(cuStreamSynchronize, stream);
  CHECK(said == CUDA_ERROR_NOT_PERMITTED);
}

TEST_CASE("streams wait for and write words of memory") {
  const Current current;
  const CUstream first = make_stream();
  const CUstream second = make_stream();
  const CUdeviceptr word = make_memory(4);
  REQUIRE_CU(cuMemsetD32Async, word, 0xFFFFFFFF, 1, first);
  REQUIRE_CU(cuStreamSynchronize, first);
  REQUIRE_CU(cuStreamWaitValue32, second, word, 2, CU_STREAM_WAIT_VALUE_GEQ);  // cyclic: -1 is less
  sleep_ms(5);
  CHECK(CU(cuStreamQuery)(second) == CUDA_ERROR_NOT_READY);
  REQUIRE_CU(cuStreamWriteValue32, first, word, 3, 0);
  CHECK_CU(cuStreamSynchronize, second);

  CUstreamBatchMemOpParams operations[2]{};
  operations[0].waitValue = {CU_STREAM_MEM_OP_WAIT_VALUE_32, word, {3}, CU_STREAM_WAIT_VALUE_EQ, 0};
  operations[1].writeValue = {CU_STREAM_MEM_OP_WRITE_VALUE_32, word, {8}, 0, 0};
  REQUIRE_CU(cuStreamBatchMemOp, second, 2, operations, 0);
  REQUIRE_CU(cuStreamWaitValue32, first, word, 8, CU_STREAM_WAIT_VALUE_AND);
  CHECK_CU(cuStreamSynchronize, first);

  std::vector<CUstreamBatchMemOpParams> many(256, operations[1]);
  CHECK_CU(cuStreamBatchMemOp, second, 255, many.data(), 0);
  CHECK(CU(cuStreamBatchMemOp)(second, 256, many.data(), 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK_CU(cuStreamSynchronize, second);

  unsigned on_stack = 0;
  CHECK(CU(cuStreamWriteValue32)(first, reinterpret_cast<CUdeviceptr>(&on_stack), 3, 0) ==
        CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace rondo
