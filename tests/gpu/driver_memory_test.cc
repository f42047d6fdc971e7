// SPDX-License-Identifier: Apache-2.0
// Memory of all kinds, and what is known about pointers to it.
#include <algorithm>
#include <cstring>
#include <vector>

#include "catch.h"
#include "driver_calls.h"

namespace rondo {
namespace {

template <class T>
T attribute(CUpointer_attribute which, CUdeviceptr pointer) {
  T value{};
  REQUIRE_CU(cuPointerGetAttribute, &value, which, pointer);
  return value;
}

unsigned memory_type(CUdeviceptr pointer) {
  return attribute<unsigned>(CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
}

CUresult known(CUdeviceptr pointer) {
  unsigned type = 0;
  return CU(cuPointerGetAttribute)(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, pointer);
}

TEST_CASE("device memory is known by its address until it is freed") {
  const Current current(1);
  const CUdeviceptr memory = make_memory(10'000);
  const CUdeviceptr inside = memory + 9'999;
  CHECK(memory % 256 == 0);
  CHECK(memory_type(inside) == CU_MEMORYTYPE_DEVICE);
  CHECK(attribute<int>(CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inside) == 1);
  CHECK(attribute<CUcontext>(CU_POINTER_ATTRIBUTE_CONTEXT, inside) == current.context());
  CHECK(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside) == memory);
  CHECK(attribute<size_t>(CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside) == 10'000);
  CHECK(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_DEVICE_POINTER, inside) == inside);
  CHECK(attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, inside) == 0);
  CHECK(known(memory + 10'000) == CUDA_ERROR_INVALID_VALUE);

  CUdeviceptr base = 0;
  size_t bytes = 0;
  REQUIRE_CU(cuMemGetAddressRange, &base, &bytes, inside);
  CHECK(base == memory);
  CHECK(bytes == 10'000);

  const auto id = attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, memory);
  CHECK(CU(cuMemFree)(inside) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE_CU(cuMemFree, memory);
  CHECK(known(memory) == CUDA_ERROR_INVALID_VALUE);
  CHECK(CU(cuMemFree)(memory) == CUDA_ERROR_INVALID_VALUE);
  CHECK(attribute<unsigned long long>(CU_POINTER_ATTRIBUTE_BUFFER_ID, make_memory(10'000)) != id);
}

TEST_CASE("nothing is known about plain host memory") {
  const Current current;
  int plain = 0;
  const auto pointer = reinterpret_cast<CUdeviceptr>(&plain);
  CHECK(known(pointer) == CUDA_ERROR_INVALID_VALUE);
  unsigned type = 7;
  CUcontext context = current.context();
  CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_CONTEXT};
  void* out[] = {&type, &context};
  CHECK_CU(cuPointerGetAttributes, 2, which, out, pointer);
  CHECK(type == 0);
  CHECK(context == nullptr);
}

TEST_CASE("host memory and managed memory are distinguished") {
  const Current current;
  void* host = nullptr;
  REQUIRE_CU(cuMemHostAlloc, &host, 100, CU_MEMHOSTALLOC_PORTABLE);
  const auto pointer = reinterpret_cast<CUdeviceptr>(host);
  CHECK(memory_type(pointer + 99) == CU_MEMORYTYPE_HOST);
  CUdeviceptr seen = 0;
  CHECK_CU(cuMemHostGetDevicePointer, &seen, host, 0);
  CHECK(seen == pointer);
  CHECK(CU(cuMemFree)(pointer) == CUDA_ERROR_INVALID_VALUE);
  CHECK_CU(cuMemFreeHost, host);
  CHECK(known(pointer) == CUDA_ERROR_INVALID_VALUE);

  CUdeviceptr managed = 0;
  REQUIRE_CU(cuMemAllocManaged, &managed, 100, CU_MEM_ATTACH_GLOBAL);
  CHECK(attribute<unsigned>(CU_POINTER_ATTRIBUTE_IS_MANAGED, managed) == 1);
  CHECK(attribute<CUdeviceptr>(CU_POINTER_ATTRIBUTE_HOST_POINTER, managed) == managed);
  CHECK_CU(cuMemFree, managed);
}

TEST_CASE("host memory can be registered only once") {
  const Current current;
  std::vector<char> plain(5000);
  const auto pointer = reinterpret_cast<CUdeviceptr>(plain.data());
  REQUIRE_CU(cuMemHostRegister, plain.data(), plain.size(), CU_MEMHOSTREGISTER_PORTABLE);
  CHECK(memory_type(pointer + 4999) == CU_MEMORYTYPE_HOST);
  CHECK(CU(cuMemHostRegister)(plain.data() + 10, 10, 0) == CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
  CHECK_CU(cuMemHostUnregister, plain.data());
  CHECK(CU(cuMemHostUnregister)(plain.data()) == CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
  CHECK(known(pointer) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("new memory is filled with a pattern") {
  const Current current;
  std::vector<unsigned char> out(3000);
  REQUIRE_CU(cuMemcpyDtoH, out.data(), make_memory(3000), 3000);
  CHECK(std::count(out.begin(), out.end(), 0xA5) == 3000);
}

TEST_CASE("copies must fit the allocation in which they begin") {
  const Current current;
  const CUstream stream = make_stream();
  const CUdeviceptr memory = make_memory(100);
  char out[200];
  CHECK(CU(cuMemcpyDtoHAsync)(out, memory, 101, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(CU(cuMemcpyAsync)(memory + 50, memory, 51, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(CU(cuMemcpyHtoDAsync)(reinterpret_cast<CUdeviceptr>(out), out, 10, stream) ==
        CUDA_ERROR_INVALID_VALUE);
  CHECK(CU(cuMemsetD8Async)(memory, 0, 101, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK(CU(cuMemsetD32Async)(memory + 1, 0, 1, stream) == CUDA_ERROR_INVALID_VALUE);
  CHECK_CU(cuMemcpyAsync, memory + 50, memory, 50, stream);
}

TEST_CASE("freeing memory waits for the device's work") {
  const Current current;
  const CUstream stream = make_stream();
  const CUdeviceptr memory = make_memory(1 << 20);
  static std::atomic<bool> done;
  done = false;
  const CUhostFn slow = [](void*) {
    sleep_ms(20);
    done = true;
  };
  REQUIRE_CU(cuLaunchHostFunc, stream, slow, nullptr);
  REQUIRE_CU(cuMemsetD8Async, memory, 1, 1 << 20, stream);
  CHECK_CU(cuMemFree, memory);
  CHECK(done);
}

TEST_CASE("in a process with little memory", "[.]") {
  const Current current;
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  CUdeviceptr second = 0;
  const CUdeviceptr first = make_memory(6 << 20);
  CHECK(CU(cuMemAlloc)(&second, 6 << 20) == CUDA_ERROR_OUT_OF_MEMORY);
  REQUIRE_CU(cuMemGetInfo, &free_bytes, &total_bytes);
  CHECK(free_bytes == 4 << 20);
  CHECK(total_bytes == 10 << 20);
  CHECK_CU(cuMemFree, first);
  CHECK_CU(cuMemAlloc, &second, 6 << 20);
  {
    const Current other(1);
    CHECK_CU(cuMemAlloc, &second, 6 << 20);
  }
  CHECK(CU(cuMemAlloc)(&second, ~size_t{0}) == CUDA_ERROR_OUT_OF_MEMORY);
  CHECK(CU(cuMemAlloc)(&second, 0) == CUDA_ERROR_INVALID_VALUE);
}
TEST_CASE("a device's memory is limited") {
  CHECK(run_case("in a process with little memory", {{"RONDO_STANDIN_MEMORY", "10485760"}}) == 0);
}

}  // namespace
}  // namespace rondo
