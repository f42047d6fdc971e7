// SPDX-License-Identifier: Apache-2.0
// Virtual memory: address ranges, device memory, and mappings between them.
#include <unistd.h>

#include "catch.h"
#include "driver_calls.h"

namespace rondo {
namespace {

constexpr size_t kUnit = size_t{2} << 20;

CUmemAllocationProp property(int device, CUmemAllocationHandleType type) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.requestedHandleTypes = type;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device;
  return prop;
}
const CUmemAllocationProp kShareable = property(0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
const CUmemAllocationProp kPrivate = property(0, CU_MEM_HANDLE_TYPE_NONE);

CUdeviceptr reserve(size_t bytes) {
  CUdeviceptr address = 0;
  REQUIRE_CU(cuMemAddressReserve, &address, bytes, 0, 0, 0);
  return address;
}

CUmemGenericAllocationHandle create(size_t bytes, const CUmemAllocationProp& prop) {
  CUmemGenericAllocationHandle handle = 0;
  REQUIRE_CU(cuMemCreate, &handle, bytes, &prop, 0);
  return handle;
}

CUresult allow(CUdeviceptr address, size_t bytes, int device) {
  CUmemAccessDesc access{};
  access.location = property(device, CU_MEM_HANDLE_TYPE_NONE).location;
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return CU(cuMemSetAccess)(address, bytes, &access, 1);
}

TEST_CASE("memory is mapped twice and outlives its handle") {
  const Current current;
  size_t unit = 0;
  REQUIRE_CU(cuMemGetAllocationGranularity, &unit, &kPrivate, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
  REQUIRE(unit == kUnit);
  const CUdeviceptr address = reserve(4 * kUnit);
  const auto handle = create(2 * kUnit, kPrivate);
  REQUIRE_CU(cuMemMap, address, 2 * kUnit, 0, handle, 0);
  REQUIRE_CU(cuMemMap, address + 2 * kUnit, 2 * kUnit, 0, handle, 0);
  CHECK(CU(cuMemMap)(address, kUnit, 0, handle, 0) == CUDA_ERROR_ALREADY_MAPPED);
  REQUIRE_CU(cuMemRelease, handle);
  REQUIRE(allow(address, 4 * kUnit, 0) == CUDA_SUCCESS);
  *at<int>(address + 40) = 17;
  CHECK(*at<int>(address + 2 * kUnit + 40) == 17);

  CUmemGenericAllocationHandle again = 0;
  REQUIRE_CU(cuMemRetainAllocationHandle, &again, at<void>(address + 5));
  CHECK_CU(cuMemRelease, again);
  CHECK(CU(cuMemAddressFree)(address, 4 * kUnit) == CUDA_ERROR_INVALID_VALUE);
  CHECK(CU(cuMemUnmap)(address, kUnit) == CUDA_ERROR_INVALID_VALUE);
  CHECK_CU(cuMemUnmap, address, 4 * kUnit);
  CHECK(CU(cuMemUnmap)(address, 4 * kUnit) == CUDA_ERROR_INVALID_VALUE);
  CHECK_CU(cuMemAddressFree, address, 4 * kUnit);
}

TEST_CASE("sizes and addresses of mappings are multiples of the granularity") {
  const Current current;
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr address = 0;
  CHECK(CU(cuMemCreate)(&handle, kUnit + 1, &kPrivate, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(CU(cuMemAddressReserve)(&address, 4096, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  handle = create(kUnit, kPrivate);
  address = reserve(kUnit);
  CHECK(address % kUnit == 0);
  CHECK(CU(cuMemMap)(address, 2 * kUnit, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(CU(cuMemMap)(address + 4 * kUnit, kUnit, 0, handle, 0) == CUDA_ERROR_INVALID_VALUE);
}

TEST_CASE("mapped memory belongs to a device, but has no legacy IPC handle") {
  const Current current;
  const CUdeviceptr address = reserve(kUnit);
  const auto handle = create(kUnit, kShareable);
  REQUIRE_CU(cuMemMap, address, kUnit, 0, handle, 0);
  unsigned capable = 1;
  REQUIRE_CU(cuPointerGetAttribute, &capable, CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE, address);
  CHECK(capable == 0);
  CUcontext context = current.context();
  REQUIRE_CU(cuPointerGetAttribute, &context, CU_POINTER_ATTRIBUTE_CONTEXT, address);
  CHECK(context == nullptr);
  CUipcMemHandle ipc;
  CHECK(CU(cuIpcGetMemHandle)(&ipc, address) == CUDA_ERROR_INVALID_VALUE);

  const CUstream stream = make_stream();
  CHECK(CU(cuStreamWriteValue32)(stream, address, 1, 0) == CUDA_ERROR_INVALID_VALUE);  // no access yet
  REQUIRE(allow(address, kUnit, 0) == CUDA_SUCCESS);
  CHECK_CU(cuStreamWriteValue32, stream, address, 1, 0);
  REQUIRE_CU(cuStreamSynchronize, stream);
}

TEST_CASE("memory is exported as a descriptor, if created for that") {
  const Current current;
  int fd = -1;
  constexpr auto kType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  CHECK(CU(cuMemExportToShareableHandle)(&fd, create(kUnit, kPrivate), kType, 0) == CUDA_ERROR_INVALID_VALUE);
  const auto handle = create(kUnit, kShareable);
  REQUIRE_CU(cuMemExportToShareableHandle, &fd, handle, kType, 0);
  CUmemGenericAllocationHandle imported = 0;
  const auto import = [&](int from) {
    return CU(cuMemImportFromShareableHandle)(&imported, at<void>(static_cast<CUdeviceptr>(from)), kType);
  };
  CHECK(import(STDIN_FILENO) == CUDA_ERROR_INVALID_VALUE);
  REQUIRE(import(fd) == CUDA_SUCCESS);
  ::close(fd);
  const CUdeviceptr address = reserve(2 * kUnit);
  REQUIRE_CU(cuMemMap, address, kUnit, 0, handle, 0);
  REQUIRE_CU(cuMemMap, address + kUnit, kUnit, 0, imported, 0);
  REQUIRE(allow(address, 2 * kUnit, 0) == CUDA_SUCCESS);
  *at<int>(address) = 5;
  CHECK(*at<int>(address + kUnit) == 5);
}

}  // namespace
}  // namespace rondo
