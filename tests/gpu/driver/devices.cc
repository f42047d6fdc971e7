// SPDX-License-Identifier: Apache-2.0
// Devices and their attributes.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "driver.h"
#include "occupancy.h"

namespace rondo::standin {

std::array<unsigned char, 16> Device::uuid() const {
  std::array<unsigned char, 16> bytes{'r', 'o', 'n', 'd', 'o', ' ', 's', 't', 'a', 'n', 'd', 'i', 'n'};
  bytes[14] = static_cast<unsigned char>(physical >> 8);
  bytes[15] = static_cast<unsigned char>(physical);
  return bytes;
}

CUresult find_device(CUdevice ordinal, Device*& found) {
  const auto& devices = driver().devices;
  STANDIN_REQUIRE(ordinal >= 0 && static_cast<size_t>(ordinal) < devices.size(), CUDA_ERROR_INVALID_DEVICE);
  found = devices[static_cast<size_t>(ordinal)].get();
  return CUDA_SUCCESS;
}

Device* device_in_machine(int physical) {
  for (const auto& device : driver().devices)
    if (device->physical == physical) return device.get();
  return nullptr;
}

namespace {

constexpr int kFirstBus = 0x10;

int attribute_of(const Device& device, CUdevice_attribute attribute) {
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return driver().settings.processors;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return 9;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return 0;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: return kMaxBlockThreads;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: return 64;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: return 0x7FFFFFFF;
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
    case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: return 65535;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE: return 32;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return 1'000'000;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: return kSharedBytes;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return kMaxSharedBytes;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return kProcessorSharedBytes;
    case CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK: return kReservedSharedBytes;
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK:
    case CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR: return kProcessorRegisters;
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return kProcessorThreads;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return kProcessorBlocks;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT: return 2;
    case CU_DEVICE_ATTRIBUTE_PCI_BUS_ID: return kFirstBus + device.physical;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_SUPPORTED: return driver().settings.has_rdma ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED: return driver().settings.has_dmabuf ? 1 : 0;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WRITES_ORDERING:
      return driver().settings.orders_rdma_writes ? CU_GPU_DIRECT_RDMA_WRITES_ORDERING_OWNER
                                                  : CU_GPU_DIRECT_RDMA_WRITES_ORDERING_NONE;
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS:
      return driver().settings.flushes_rdma_writes ? CU_FLUSH_GPU_DIRECT_RDMA_WRITES_OPTION_HOST : 0;
    case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
    case CU_DEVICE_ATTRIBUTE_GPU_OVERLAP:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    case CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY:
    case CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS:
    case CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY:
    case CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM:
    case CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1:
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED: return 1;
    default: return 0;
  }
}

bool peers(const Device& a, const Device& b) { return &a != &b && driver().settings.peers; }

}  // namespace
}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuDeviceGetCount(int* count) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(count != nullptr, CUDA_ERROR_INVALID_VALUE);
    *count = static_cast<int>(driver().devices.size());
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return call(__func__, [&](Lock&) {
    Device* found = nullptr;
    STANDIN_REQUIRE(device != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(find_device(ordinal, found));
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  return call(__func__, [&](Lock&) {
    Device* found = nullptr;
    STANDIN_REQUIRE(name != nullptr && length > 0, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(find_device(device, found));
    std::snprintf(name, static_cast<size_t>(length), "Rondo stand-in");
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return call(__func__, [&](Lock&) {
    Device* found = nullptr;
    STANDIN_REQUIRE(uuid != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(find_device(device, found));
    std::memcpy(uuid->bytes, found->uuid().data(), sizeof uuid->bytes);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return call(__func__, [&](Lock&) {
    Device* found = nullptr;
    STANDIN_REQUIRE(value != nullptr && attribute > 0 && attribute < CU_DEVICE_ATTRIBUTE_MAX,
                    CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(find_device(device, found));
    *value = attribute_of(*found, attribute);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetPCIBusId(char* name, int length, CUdevice device) {
  return call(__func__, [&](Lock&) {
    Device* found = nullptr;
    STANDIN_REQUIRE(name != nullptr && length >= 13, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(find_device(device, found));
    std::snprintf(name, static_cast<size_t>(length), "0000:%02X:00.0", kFirstBus + found->physical);
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return call(__func__, [&](Lock&) {
    Device* found = nullptr;
    STANDIN_REQUIRE(bytes != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(find_device(device, found));
    *bytes = driver().settings.memory_bytes;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return call(__func__, [&](Lock&) {
    Device* a = nullptr;
    Device* b = nullptr;
    STANDIN_REQUIRE(can != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(find_device(device, a));
    STANDIN_TRY(find_device(peer, b));
    *can = peers(*a, *b) ? 1 : 0;
    return CUDA_SUCCESS;
  });
}

CUresult cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice from, CUdevice to) {
  return call(__func__, [&](Lock&) {
    Device* a = nullptr;
    Device* b = nullptr;
    STANDIN_REQUIRE(value != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(find_device(from, a));
    STANDIN_TRY(find_device(to, b));
    STANDIN_REQUIRE(a != b, CUDA_ERROR_INVALID_DEVICE);
    const bool has =
        attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED ||
        (attribute == CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED && driver().settings.nvlink);
    *value = has && peers(*a, *b) ? 1 : 0;
    return CUDA_SUCCESS;
  });
}
