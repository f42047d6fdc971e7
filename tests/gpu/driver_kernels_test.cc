// SPDX-License-Identifier: Apache-2.0
// Kernel launches: their results, what is refused, and that a device runs one at a time.
#include <unistd.h>

#include <vector>

#include "catch.h"
#include "driver_calls.h"
#include "driver_kernels.h"

namespace rondo {
namespace {

constexpr size_t kCount = 1000;

/// Doubles on two streams, the second waiting for an event of the first.
struct Doubling {
  CUfunction fold = find_function(device::kFoldListKernel);
  CUdeviceptr memory = make_memory(kCount * sizeof(float));
  CUstream first = make_stream();
  CUstream second = make_stream();

  Doubling() {
    const std::vector<float> ones(kCount, 1.0F);
    REQUIRE_CU(cuMemcpyHtoD, memory, ones.data(), kCount * sizeof(float));
  }
  void into(CUstream stream) {
    REQUIRE(launch(fold, stream, doubling(memory, memory, kCount)) == CUDA_SUCCESS);
  }
  float last() const {
    float value = 0;
    REQUIRE_CU(cuMemcpyDtoH, &value, memory + (kCount - 1) * sizeof value, sizeof value);
    return value;
  }
};

TEST_CASE("launches fold, and copy their argument when they are made") {
  const Current current;
  Doubling doubling;
  CUevent event = nullptr;
  REQUIRE_CU(cuEventCreate, &event, CU_EVENT_DISABLE_TIMING);
  for (int i = 0; i < 10; ++i) doubling.into(doubling.first);
  REQUIRE_CU(cuEventRecord, event, doubling.first);
  REQUIRE_CU(cuStreamWaitEvent, doubling.second, event, 0);
  doubling.into(doubling.second);
  REQUIRE_CU(cuStreamSynchronize, doubling.second);
  CHECK(doubling.last() == 2048.0F);
}

TEST_CASE("launches that a device cannot run are refused") {
  const Current current;
  const CUfunction fold = find_function(device::kFoldListKernel);
  const CUstream stream = make_stream();
  device::FoldList list{};
  void* arguments[] = {&list};
  const auto launch_with = [&](unsigned blocks, unsigned threads, void** with) {
    return CU(cuLaunchKernel)(fold, blocks, 1, 1, threads, 1, 1, 0, stream, with, nullptr);
  };
  CHECK(launch_with(0, 32, arguments) == CUDA_ERROR_INVALID_VALUE);
  CHECK(launch_with(1, 2048, arguments) == CUDA_ERROR_INVALID_VALUE);
  CHECK(launch_with(1, device::kMaxThreads + 1, arguments) == CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
  CHECK(launch_with(1, 32, nullptr) == CUDA_ERROR_INVALID_VALUE);

  int fits = 0;
  int processors = 0;
  REQUIRE_CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, &fits, fold, 512, 0);
  REQUIRE_CU(cuDeviceGetAttribute, &processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
  SpinningKernel large(static_cast<uint32_t>(fits * processors) + 1);
  CHECK(large.launch(find_function(device::kExecuteKernel), stream) ==
        CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
}

TEST_CASE("streams and functions of another device's context are refused") {
  const Current current;
  const CUfunction fold = find_function(device::kFoldListKernel);
  const CUstream stream = make_stream();
  {
    const Current other(1);
    CHECK(launch(fold, make_stream(), {}) == CUDA_ERROR_INVALID_HANDLE);
    CHECK(launch(find_function(device::kFoldListKernel), stream, {}) == CUDA_ERROR_INVALID_HANDLE);
  }
  CHECK(launch(fold, stream, {}) == CUDA_SUCCESS);
}

TEST_CASE("libraries know the kernels that were compiled for the host") {
  const Current current;
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  const auto load = CU(cuLibraryLoadData);
  CHECK(load(&library, nullptr, nullptr, nullptr, 0, nullptr, nullptr, 0) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(load(&library, "image", nullptr, nullptr, 0, nullptr, nullptr, 0) == CUDA_SUCCESS);
  CHECK(CU(cuLibraryGetKernel)(&kernel, library, "no_such") == CUDA_ERROR_NOT_FOUND);
  CHECK_CU(cuLibraryGetKernel, &kernel, library, device::kExecuteKernel);
  CHECK_CU(cuLibraryUnload, library);
  CUfunction function = nullptr;
  CHECK(CU(cuKernelGetFunction)(&function, kernel) == CUDA_ERROR_INVALID_HANDLE);
}

/// Whether a fold completes within `limit_ms` while a kernel spins on the same device.
bool fold_passes_spinning_kernel(int limit_ms) {
  SpinningKernel spinning;
  Doubling doubling;
  REQUIRE(spinning.launch(find_function(device::kExecuteKernel), doubling.first) == CUDA_SUCCESS);
  spinning.wait_until_it_runs();
  doubling.into(doubling.second);
  const bool passed = ends_within(doubling.second, limit_ms);
  spinning.stop();
  CHECK_CU(cuCtxSynchronize);
  CHECK(doubling.last() == 2.0F);
  return passed;
}

TEST_CASE("a device runs one launch at a time") {
  const Current current;
  CHECK_FALSE(fold_passes_spinning_kernel(100));
}

TEST_CASE("in a process where launches run together", "[.]") {
  const Current current;
  CHECK(fold_passes_spinning_kernel(10'000));
}
TEST_CASE("launches run together if so configured") {
  CHECK(run_case("in a process where launches run together", {{"RONDO_STANDIN_CONCURRENT", "1"}}) == 0);
}

TEST_CASE("devices run launches independently") {
  const Current current;
  SpinningKernel spinning;
  const CUstream stream = make_stream();
  REQUIRE(spinning.launch(find_function(device::kExecuteKernel), stream) == CUDA_SUCCESS);
  {
    const Current other(1);
    Doubling doubling;
    doubling.into(doubling.first);
    CHECK_CU(cuStreamSynchronize, doubling.first);
  }
  spinning.stop();
  CHECK_CU(cuStreamSynchronize, stream);
}

}  // namespace
}  // namespace rondo
