// SPDX-License-Identifier: Apache-2.0
// What processes share: memory, and turns on a device.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "catch.h"
#include "driver_calls.h"
#include "driver_kernels.h"
#include "folder.h"

namespace rondo {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  REQUIRE(value != nullptr);
  return value == nullptr ? "" : value;
}

std::string hex(const CUipcMemHandle& handle) {
  std::string text;
  for (const char byte : handle.reserved) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(byte));
    text += digits;
  }
  return text;
}

CUipcMemHandle handle_from(const std::string& text) {
  CUipcMemHandle handle{};
  for (size_t i = 0; i < sizeof handle.reserved; ++i)
    handle.reserved[i] = static_cast<char>(std::stoi(text.substr(2 * i, 2), nullptr, 16));
  return handle;
}

constexpr unsigned kFlags = CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS;

TEST_CASE("a handle does not open in its own process") {
  const Current current;
  CUipcMemHandle handle;
  CUdeviceptr opened = 0;
  REQUIRE_CU(cuIpcGetMemHandle, &handle, make_memory(100));
  CHECK(CU(cuIpcOpenMemHandle)(&opened, handle, kFlags) == CUDA_ERROR_INVALID_CONTEXT);
  CHECK(CU(cuIpcOpenMemHandle)(&opened, CUipcMemHandle{}, kFlags) == CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr managed = 0;
  REQUIRE_CU(cuMemAllocManaged, &managed, 100, CU_MEM_ATTACH_GLOBAL);
  CHECK(CU(cuIpcGetMemHandle)(&handle, managed) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("in a process that opens a handle", "[.]") {
  const Current current;
  const CUipcMemHandle handle = handle_from(variable("TEST_HANDLE"));
  CUdeviceptr opened = 0;
  CUdeviceptr again = 0;
  REQUIRE_CU(cuIpcOpenMemHandle, &opened, handle, kFlags);
  REQUIRE_CU(cuIpcOpenMemHandle, &again, handle, kFlags);
  CHECK(opened == again);
  CUdeviceptr base = 0;
  size_t bytes = 0;
  REQUIRE_CU(cuMemGetAddressRange, &base, &bytes, opened + 7);
  CHECK(base == opened);
  CHECK(bytes == 8000);
  CHECK(*at<int>(opened) == 11);  // the handle was made from an address inside the allocation
  *at<int>(opened + 4) = 12;
  {
    const Current other(1);
    CHECK(CU(cuIpcOpenMemHandle)(&again, handle, kFlags) == CUDA_ERROR_ALREADY_MAPPED);
  }
  CHECK(CU(cuMemFree)(opened) == CUDA_ERROR_INVALID_VALUE);
  CHECK_CU(cuIpcCloseMemHandle, opened);
  *at<int>(opened + 8) = 13;  // still open: it was opened twice
  CHECK_CU(cuIpcCloseMemHandle, opened);
  CHECK(CU(cuIpcCloseMemHandle)(opened) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("in a process that opens a handle too late", "[.]") {
  const Current current;
  CUdeviceptr opened = 0;
  CHECK(CU(cuIpcOpenMemHandle)(&opened, handle_from(variable("TEST_HANDLE")), kFlags) ==
        CUDA_ERROR_MAP_FAILED);
}

TEST_CASE("another process opens a handle and writes") {
  const Current current;
  const CUdeviceptr memory = make_memory(8000);
  CUipcMemHandle handle;
  REQUIRE_CU(cuIpcGetMemHandle, &handle, memory + 100);
  *at<int>(memory) = 11;
  CHECK(run_case("in a process that opens a handle", {{"TEST_HANDLE", hex(handle)}}) == 0);
  CHECK(*at<int>(memory + 4) == 12);
  CHECK(*at<int>(memory + 8) == 13);
  REQUIRE_CU(cuMemFree, memory);
  make_memory(8000);  // reuses the descriptor that the handle names
  CHECK(run_case("in a process that opens a handle too late", {{"TEST_HANDLE", hex(handle)}}) == 0);
}

TEST_CASE("in a process that reads what its owner has freed", "[.]") {
  const Current current;
  CUdeviceptr opened = 0;
  REQUIRE_CU(cuIpcOpenMemHandle, &opened, handle_from(variable("TEST_HANDLE")), kFlags);
  const int told = std::stoi(variable("TEST_DESCRIPTOR"));
  char freed = 0;
  REQUIRE(::write(told, &freed, 1) == 1);
  REQUIRE(::read(told, &freed, 1) == 1);
  static_cast<void>(*at<volatile int>(opened));
}

TEST_CASE("freed memory faults in every process that has it open") {
  const Current current;
  const CUdeviceptr memory = make_memory(8000);
  CUipcMemHandle handle;
  REQUIRE_CU(cuIpcGetMemHandle, &handle, memory);
  int ends[2];
  REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  test::Process reader =
      start_case("in a process that reads what its owner has freed",
                 {{"TEST_HANDLE", hex(handle)}, {"TEST_DESCRIPTOR", std::to_string(ends[1])}});
  char opened = 0;
  REQUIRE(::read(ends[0], &opened, 1) == 1);
  REQUIRE_CU(cuMemFree, memory);
  REQUIRE(::write(ends[0], &opened, 1) == 1);
  CHECK_FALSE(reader.wait().ok);
}

/// The stand-in's descriptors are inherited here, instead of being sent over a socket.
TEST_CASE("in a process that maps a descriptor", "[.]") {
  const Current current;
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  const auto fd = static_cast<CUdeviceptr>(std::stoi(variable("TEST_DESCRIPTOR")));
  REQUIRE_CU(cuMemImportFromShareableHandle, &handle, at<void>(fd), CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
  CUmemAllocationProp prop{};
  REQUIRE_CU(cuMemGetAllocationPropertiesFromHandle, &prop, handle);
  CHECK(prop.location.id == 0);  // 1 in the other process, which sees two devices
  REQUIRE_CU(cuMemAddressReserve, &address, 2 << 20, 0, 0, 0);
  REQUIRE_CU(cuMemMap, address, 2 << 20, 0, handle, 0);
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  REQUIRE_CU(cuMemSetAccess, address, 2 << 20, &access, 1);
  CHECK(*at<unsigned char>(address + 5) == 0xA5);
  *at<int>(address) = 99;
}

TEST_CASE("another process maps a descriptor and writes") {
  const Current current(1);
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 1};
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  int fd = -1;
  REQUIRE_CU(cuMemCreate, &handle, 2 << 20, &prop, 0);
  REQUIRE_CU(cuMemExportToShareableHandle, &fd, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
  REQUIRE(::fcntl(fd, F_SETFD, 0) == 0);
  CHECK(run_case("in a process that maps a descriptor",
                 {{"TEST_DESCRIPTOR", std::to_string(fd)}, {"CUDA_VISIBLE_DEVICES", "1"}}) == 0);
  ::close(fd);
  REQUIRE_CU(cuMemAddressReserve, &address, 2 << 20, 0, 0, 0);
  REQUIRE_CU(cuMemMap, address, 2 << 20, 0, handle, 0);
  const CUmemAccessDesc access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  REQUIRE_CU(cuMemSetAccess, address, 2 << 20, &access, 1);
  CHECK(*at<int>(address) == 99);
}

void say(const std::string& path) { std::ofstream(path).put('\n'); }
void hear(const std::string& path) {
  while (!std::filesystem::exists(path)) sleep_ms(1);
}

TEST_CASE("in a process whose kernel holds a device", "[.]") {
  const Current current;
  const std::string folder = variable("RONDO_STANDIN_DIR");
  SpinningKernel spinning;
  const CUstream stream = make_stream();
  REQUIRE(spinning.launch(find_function(device::kExecuteKernel), stream) == CUDA_SUCCESS);
  spinning.wait_until_it_runs();
  say(folder + "/held");
  hear(folder + "/seen");
  spinning.stop();
  CHECK_CU(cuStreamSynchronize, stream);
}

TEST_CASE("in a process whose kernel waits for its turn", "[.]") {
  const Current current;
  const std::string folder = variable("RONDO_STANDIN_DIR");
  const CUdeviceptr memory = make_memory(400);
  const CUstream stream = make_stream();
  hear(folder + "/held");
  REQUIRE(launch(find_function(device::kFoldListKernel), stream, doubling(memory, memory, 100)) ==
          CUDA_SUCCESS);
  sleep_ms(50);
  CHECK(CU(cuStreamQuery)(stream) == CUDA_ERROR_NOT_READY);
  say(folder + "/seen");
  CHECK_CU(cuStreamSynchronize, stream);
}

TEST_CASE("processes take turns on a device") {
  const test::Folder folder;
  const Variables variables{{"RONDO_STANDIN_DIR", folder.path()}};
  test::Process holds = start_case("in a process whose kernel holds a device", variables);
  CHECK(run_case("in a process whose kernel waits for its turn", variables) == 0);
  CHECK(holds.wait().ok);
}

TEST_CASE("a forked child has no driver, and ends cleanly") {
  const Current current;
  const CUstream stream = make_stream();
  const CUdeviceptr memory = make_memory(100);
  Gate gate;
  gate.into(stream);
  test::Process child([=] {
    CUdeviceptr more = 0;
    test::require(CU(cuMemAlloc)(&more, 100) == CUDA_ERROR_NOT_INITIALIZED &&
                      CU(cuInit)(0) == CUDA_ERROR_NOT_INITIALIZED &&
                      CU(cuMemFree)(memory) == CUDA_ERROR_NOT_INITIALIZED,
                  "it has a driver");
  });
  CHECK(child.wait().failure() == "");
  gate.open = true;
  CHECK_CU(cuStreamSynchronize, stream);
}

}  // namespace
}  // namespace rondo
