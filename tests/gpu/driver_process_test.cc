// SPDX-License-Identifier: Apache-2.0
// Properties of a whole process: its start and end, its devices, injected faults, and hardware queues.
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "catch.h"
#include "driver_calls.h"
#include "driver_kernels.h"

namespace rondo {
namespace {

TEST_CASE("in a process before cuInit", "[.]") {
  CUcontext context = nullptr;
  int version = 0;
  CHECK(CU(cuCtxGetCurrent)(&context) == CUDA_ERROR_NOT_INITIALIZED);
  CHECK(CU(cuDeviceGetCount)(&version) == CUDA_ERROR_NOT_INITIALIZED);
  CHECK_CU(cuDriverGetVersion, &version);
  CHECK(version == 13000);
  REQUIRE_CU(cuInit, 0);
  CHECK_CU(cuCtxGetCurrent, &context);
  CHECK(context == nullptr);
  CUstream stream = nullptr;
  CUdeviceptr memory = 0;
  CHECK(CU(cuStreamCreate)(&stream, 0) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(CU(cuMemAlloc)(&memory, 100) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(CU(cuStreamSynchronize)(nullptr) == CUDA_ERROR_INVALID_CONTEXT);
}
TEST_CASE("nothing works before cuInit, and little without a context") {
  CHECK(run_case("in a process before cuInit") == 0);
}

TEST_CASE("a released context is destroyed with everything in it") {
  CUcontext context = nullptr;
  CUdeviceptr memory = 0;
  CUstream stream = nullptr;
  {
    const Current current;
    context = current.context();
    memory = make_memory(100);
    stream = make_stream();
    CHECK_CU(cuCtxPushCurrent, context);
  }
  CUcontext other = nullptr;
  CHECK(CU(cuMemAlloc)(&memory, 100) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK_CU(cuCtxPopCurrent, &other);
  CHECK(other == context);
  unsigned flags = 0;
  int active = 1;
  CHECK_CU(cuDevicePrimaryCtxGetState, 0, &flags, &active);
  CHECK(active == 0);
  const Current again;
  CHECK(CU(cuStreamQuery)(stream) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(CU(cuMemFree)(memory) == CUDA_ERROR_INVALID_VALUE);
}

std::string uuid_of(int device) {
  CUuuid uuid;
  REQUIRE_CU(cuDeviceGetUuid, &uuid, device);
  return {uuid.bytes, sizeof uuid.bytes};
}

TEST_CASE("in a process that sees devices 2 and 0", "[.]") {
  int count = 0;
  char bus[32];
  REQUIRE_CU(cuInit, 0);
  REQUIRE_CU(cuDeviceGetCount, &count);
  CHECK(count == 2);
  CHECK(uuid_of(0).back() == 2);
  CHECK(uuid_of(1).back() == 0);
  REQUIRE_CU(cuDeviceGetPCIBusId, bus, sizeof bus, 0);
  CHECK(std::string(bus) == "0000:12:00.0");
  int can = 1;
  REQUIRE_CU(cuDeviceCanAccessPeer, &can, 0, 1);
  CHECK(can == 0);
  const Current current;
  CUcontext peer = nullptr;
  REQUIRE_CU(cuDevicePrimaryCtxRetain, &peer, 1);
  CHECK(CU(cuCtxEnablePeerAccess)(peer, 0) == CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
}
TEST_CASE("there are as many devices as configured and visible") {
  CHECK(run_case("in a process that sees devices 2 and 0", {{"RONDO_STANDIN_DEVICES", "3"},
                                                            {"RONDO_STANDIN_PEERS", "0"},
                                                            {"CUDA_VISIBLE_DEVICES", "2,0,7,1"}}) == 0);
}

TEST_CASE("in a process without devices", "[.]") { CHECK(CU(cuInit)(0) == CUDA_ERROR_NO_DEVICE); }
TEST_CASE("there may be no device") {
  CHECK(run_case("in a process without devices", {{"RONDO_STANDIN_DEVICES", "0"}}) == 0);
  CHECK(run_case("in a process without devices", {{"CUDA_VISIBLE_DEVICES", ""}}) == 0);
}

TEST_CASE("peers are enabled once") {
  const Current other(1);
  const Current current(0);
  CHECK_CU(cuCtxEnablePeerAccess, other.context(), 0);
  CHECK(CU(cuCtxEnablePeerAccess)(other.context(), 0) == CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  CHECK(CU(cuCtxEnablePeerAccess)(current.context(), 0) == CUDA_ERROR_INVALID_CONTEXT);
}

TEST_CASE("in a process where calls fail", "[.]") {
  const Current current;
  CUdeviceptr memory = make_memory(100);
  make_memory(100);
  CHECK(CU(cuMemAlloc)(&memory, 100) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK_CU(cuMemAlloc, &memory, 100);
  CHECK(CU(cuStreamSynchronize)(nullptr) == CUDA_ERROR_LAUNCH_TIMEOUT);
  CHECK_CU(cuStreamSynchronize, nullptr);
}
TEST_CASE("calls fail as configured") {
  CHECK(run_case("in a process where calls fail",
                 {{"RONDO_STANDIN_FAIL", "cuMemAlloc_v2:3:2,cuStreamSynchronize:1:702"}}) == 0);
}

TEST_CASE("in a process where a kernel fails", "[.]") {
  const Current current;
  const CUstream stream = make_stream();
  const CUstream waiting = make_stream();
  const CUdeviceptr memory = make_memory(400);
  const CUdeviceptr word = make_memory(4);
  const CUfunction fold = find_function(device::kFoldListKernel);
  REQUIRE_CU(cuStreamWaitValue32, waiting, word, 1, CU_STREAM_WAIT_VALUE_EQ);
  REQUIRE(launch(fold, stream, doubling(memory, memory, 100)) == CUDA_SUCCESS);
  REQUIRE_CU(cuStreamSynchronize, stream);
  REQUIRE(launch(fold, stream, doubling(memory, memory, 100)) == CUDA_SUCCESS);
  CHECK(CU(cuStreamSynchronize)(stream) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(CU(cuStreamSynchronize)(waiting) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(launch(fold, stream, {}) == CUDA_ERROR_ILLEGAL_ADDRESS);
  CHECK(CU(cuMemFree)(memory) == CUDA_ERROR_ILLEGAL_ADDRESS);
  const Current other(1);
  CHECK_CU(cuStreamSynchronize, nullptr);
}
TEST_CASE("a kernel that fails breaks its context") {
  CHECK(run_case("in a process where a kernel fails", {{"RONDO_STANDIN_FAIL", "rondo_fold_list:2:700"}}) ==
        0);
}

TEST_CASE("in a process that resets a device", "[.]") {
  const Current current;
  const Current other(1);
  const auto id_of = [](CUcontext context) {
    unsigned long long id = 0;
    CHECK_CU(cuCtxGetId, context, &id);
    return id;
  };
  const unsigned long long id = id_of(current.context());
  CHECK(id_of(other.context()) != id);
  REQUIRE_CU(cuCtxPushCurrent, current.context());
  const CUstream waiting = make_stream();
  const CUdeviceptr word = make_memory(4);
  REQUIRE_CU(cuStreamWaitValue32, waiting, word, 1, CU_STREAM_WAIT_VALUE_EQ);
  REQUIRE_CU(cuMemsetD32Async, word, 3, 1, waiting);
  std::atomic<bool> is_reset = false;
  std::thread resets([&] {
    CHECK_CU(cuDevicePrimaryCtxReset, 0);
    is_reset = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  CHECK(!is_reset);  // the stream still waits
  CHECK_CU(cuMemsetD32Async, word, 1, 1, make_stream());
  resets.join();
  unsigned long long now = 0;
  CUdeviceptr memory = 0;
  CHECK(CU(cuCtxGetId)(current.context(), &now) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(CU(cuMemAlloc)(&memory, 4) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(CU(cuCtxPushCurrent)(current.context()) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CUcontext again = nullptr;
  REQUIRE_CU(cuDevicePrimaryCtxRetain, &again, 0);
  CHECK(id_of(again) != id);
  CHECK(CU(cuStreamSynchronize)(waiting) == CUDA_ERROR_INVALID_HANDLE);
  CHECK(CU(cuMemFree)(word) == CUDA_ERROR_INVALID_VALUE);
  CHECK_CU(cuMemAlloc, &memory, 4);
  CHECK_CU(cuDevicePrimaryCtxReset, 0);
  CHECK_CU(cuDevicePrimaryCtxReset, 0);
}
TEST_CASE("a reset frees everything that a primary context holds") {
  CHECK(run_case("in a process that resets a device") == 0);
}

/// Whether work on one stream completes within `limit_ms` while another, unrelated stream waits.
bool passes_waiting_stream(int limit_ms) {
  const CUstream waits = make_stream();
  const CUstream works = make_stream();
  const CUdeviceptr word = make_memory(4);
  const CUdeviceptr memory = make_memory(4);
  *at<unsigned>(word) = 0;
  REQUIRE_CU(cuStreamWaitValue32, waits, word, 1, CU_STREAM_WAIT_VALUE_EQ);
  REQUIRE_CU(cuMemsetD32Async, memory, 3, 1, works);
  const bool passed = ends_within(works, limit_ms);
  __atomic_store_n(at<unsigned>(word), 1, __ATOMIC_RELEASE);
  CHECK_CU(cuStreamSynchronize, works);
  CHECK_CU(cuStreamSynchronize, waits);
  return passed;
}

TEST_CASE("streams have separate queues") {
  const Current current;
  CHECK(passes_waiting_stream(10'000));
}
TEST_CASE("in a process with one queue", "[.]") {
  const Current current;
  CHECK_FALSE(passes_waiting_stream(100));
}
TEST_CASE("in a process with four queues", "[.]") {
  const Current current;
  CHECK(passes_waiting_stream(10'000));
}
TEST_CASE("streams share hardware queues if so configured") {
  CHECK(run_case("in a process with one queue", {{"RONDO_STANDIN_QUEUES", "1"}}) == 0);
  CHECK(run_case("in a process with four queues", {{"RONDO_STANDIN_QUEUES", "4"}}) == 0);
}

TEST_CASE("in a process that ends with work pending", "[.]") {
  const Current current;
  const CUfunction execute = find_function(device::kExecuteKernel);
  static auto& spinning = *new SpinningKernel;  // outlives what exit() destroys
  static CUevent event = nullptr;
  REQUIRE_CU(cuEventCreate, &event, 0);
  REQUIRE(spinning.launch(execute, make_stream()) == CUDA_SUCCESS);
  const CUstream stream = make_stream();
  const CUdeviceptr word = make_memory(4);
  REQUIRE_CU(cuStreamWaitValue32, stream, word, 1, CU_STREAM_WAIT_VALUE_EQ);
  REQUIRE_CU(cuEventRecord, event, stream);
  REQUIRE_CU(cuStreamWaitEvent, make_stream(), event, 0);
  spinning.wait_until_it_runs();
  std::exit(7);
}
TEST_CASE("a process ends with streams alive and work pending") {
  CHECK(run_case("in a process that ends with work pending", {}, 10) == 7);
}

TEST_CASE("in a process with delays", "[.]") {
  const Current current;
  const CUstream stream = make_stream();
  const CUdeviceptr memory = make_memory(4);
  for (unsigned i = 0; i < 100; ++i) REQUIRE_CU(cuMemsetD32Async, memory, i, 1, stream);
  CHECK_CU(cuStreamSynchronize, stream);
  CHECK(*at<unsigned>(memory) == 99);
}
TEST_CASE("work may be delayed") {
  CHECK(run_case("in a process with delays", {{"RONDO_STANDIN_SEED", "3"}}) == 0);
}

TEST_CASE("in a process with guarded memory", "[.]") {
  const Current current;
  const CUstream stream = make_stream();
  const CUdeviceptr memory = make_memory(8000);
  const CUdeviceptr word = make_memory(4);
  const CUfunction fold = find_function(device::kFoldListKernel);
  std::vector<float> out(1000);
  REQUIRE_CU(cuMemsetD32Async, memory, 0x3F800000, 1000, stream);
  REQUIRE(launch(fold, stream, doubling(memory, memory, 1000)) == CUDA_SUCCESS);
  REQUIRE_CU(cuStreamWriteValue32, stream, word, 1, 0);
  REQUIRE_CU(cuStreamWaitValue32, stream, word, 1, CU_STREAM_WAIT_VALUE_EQ);
  REQUIRE_CU(cuMemcpyDtoHAsync, out.data(), memory, 4000, stream);
  REQUIRE_CU(cuStreamSynchronize, stream);
  CHECK(out.back() == 2.0F);
  CUdeviceptr managed = 0;
  REQUIRE_CU(cuMemAllocManaged, &managed, 4, CU_MEM_ATTACH_GLOBAL);
  *at<int>(managed) = 1;

  std::signal(SIGSEGV, [](int) { std::_Exit(9); });
  *at<int>(memory) = 1;
}
TEST_CASE("the host cannot access guarded device memory") {
  CHECK(run_case("in a process with guarded memory", {{"RONDO_STANDIN_GUARD", "1"}}) == 9);
}

TEST_CASE("functions are found by name, and errors have names and texts") {
  void* function = nullptr;
  CUdriverProcAddressQueryResult status{};
  const auto get = CU(cuGetProcAddress);
  const auto is = [&](const char* name) { return function == driver_symbol(name); };
  CHECK(get("cuMemAlloc", &function, 13000, 0, &status) == CUDA_SUCCESS);
  CHECK(is("cuMemAlloc_v2"));
  CHECK(status == CU_GET_PROC_ADDRESS_SUCCESS);
  CHECK(get("cuGraphInstantiate", &function, 12000, 0, nullptr) == CUDA_SUCCESS);
  CHECK(is("cuGraphInstantiateWithFlags"));
  CHECK(get("cuStreamGetCaptureInfo", &function, 12000, 0, nullptr) == CUDA_SUCCESS);
  CHECK(is("cuStreamGetCaptureInfo_v2"));
  CHECK(get("cuStreamGetCaptureInfo", &function, 13000, 0, nullptr) == CUDA_SUCCESS);
  CHECK(is("cuStreamGetCaptureInfo_v3"));
  CHECK(get("cuNoSuchThing", &function, 13000, 0, &status) == CUDA_ERROR_NOT_FOUND);
  CHECK(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
  const char* text = nullptr;
  CHECK_CU(cuGetErrorName, CUDA_ERROR_NOT_READY, &text);
  CHECK(std::string(text) == "CUDA_ERROR_NOT_READY");
  CHECK(CU(cuGetErrorString)(static_cast<CUresult>(998), &text) == CUDA_ERROR_INVALID_VALUE);
}

}  // namespace
}  // namespace rondo
