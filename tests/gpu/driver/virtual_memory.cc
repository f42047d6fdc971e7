// SPDX-License-Identifier: Apache-2.0
// Virtual memory: device memory, reserved addresses, and mappings between them.
#include <fcntl.h>
#include <sys/mman.h>

#include <cstring>
#include <map>

#include "graph.h"
#include "guard.h"

namespace rondo::standin {
namespace {

constexpr size_t kGranularity = size_t{2} << 20;

struct Physical {
  std::shared_ptr<DeviceMemory> memory;
  CUmemAllocationProp prop;
  unsigned references = 1;
};

struct Tables {
  std::map<CUmemGenericAllocationHandle, Physical> handles;
  std::map<uintptr_t, Mapping> reserved;
};

/// Guarded by Driver::mutex.
Tables& tables() {
  static auto* const self = new Tables;
  return *self;
}

Physical* find_physical(CUmemGenericAllocationHandle handle) {
  const auto found = tables().handles.find(handle);
  return found == tables().handles.end() ? nullptr : &found->second;
}

CUmemGenericAllocationHandle add_physical(std::shared_ptr<DeviceMemory> memory,
                                          const CUmemAllocationProp& prop) {
  const CUmemGenericAllocationHandle handle = driver().next_id();
  tables().handles[handle] = {std::move(memory), prop};
  return handle;
}

CUresult check_prop(const CUmemAllocationProp* prop, Device*& device) {
  STANDIN_REQUIRE(prop != nullptr && prop->type == CU_MEM_ALLOCATION_TYPE_PINNED, CUDA_ERROR_INVALID_VALUE);
  STANDIN_REQUIRE(prop->location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_NOT_SUPPORTED);
  STANDIN_REQUIRE(prop->requestedHandleTypes == CU_MEM_HANDLE_TYPE_NONE ||
                      prop->requestedHandleTypes == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                  CUDA_ERROR_NOT_SUPPORTED);
  return find_device(prop->location.id, device);
}

bool granular(uint64_t value) { return value % kGranularity == 0; }

bool reserved(uintptr_t begin, size_t bytes) {
  auto after = tables().reserved.upper_bound(begin);
  if (after == tables().reserved.begin()) return false;
  const auto& [base, mapping] = *std::prev(after);
  return begin - base <= mapping.bytes() && bytes <= mapping.bytes() - (begin - base);
}

/// The mappings that fill the range exactly; empty if it has holes or splits one.
std::vector<Allocation*> mapped_in(uintptr_t begin, size_t bytes) {
  std::vector<Allocation*> found;
  uintptr_t at = begin;
  while (at < begin + bytes) {
    Allocation* next = driver().allocations.at(at, Allocation::Kind::Virtual);
    if (next == nullptr || next->bytes > begin + bytes - at) return {};
    found.push_back(next);
    at += next->bytes;
  }
  return found;
}

CUresult give_access(Allocation& mapping, const CUmemAccessDesc& access) {
  Device* device = nullptr;
  STANDIN_REQUIRE(access.location.type == CU_MEM_LOCATION_TYPE_DEVICE, CUDA_ERROR_INVALID_VALUE);
  STANDIN_TRY(find_device(access.location.id, device));
  STANDIN_REQUIRE(device == &mapping.memory->device() || driver().settings.peers,
                  CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  const uint64_t bit = uint64_t{1} << device->ordinal;
  if (access.flags == CU_MEM_ACCESS_FLAGS_PROT_NONE)
    mapping.devices_allowed &= ~bit;
  else
    mapping.devices_allowed |= bit;
  STANDIN_REQUIRE(protect(mapping), CUDA_ERROR_OPERATING_SYSTEM);
  return CUDA_SUCCESS;
}

void poison(const DeviceMemory& memory) {
  const Mapping whole = Mapping::of(memory);
  if (!whole.null()) std::memset(whole.begin(), kPoison, whole.bytes());
}

CUresult map(uintptr_t begin, size_t bytes, const Physical& physical) {
  Allocations& all = driver().allocations;
  STANDIN_REQUIRE(bytes != 0 && granular(begin) && granular(bytes) && bytes <= physical.memory->bytes(),
                  CUDA_ERROR_INVALID_VALUE);
  STANDIN_REQUIRE(reserved(begin, bytes), CUDA_ERROR_INVALID_VALUE);
  STANDIN_REQUIRE(!all.overlaps(begin, bytes), CUDA_ERROR_ALREADY_MAPPED);
  void* const mapped = ::mmap(at(begin), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, physical.memory->fd(), 0);
  STANDIN_REQUIRE(mapped != MAP_FAILED, CUDA_ERROR_OUT_OF_MEMORY);
  Allocation made;
  made.kind = Allocation::Kind::Virtual;
  made.base = begin;
  made.bytes = bytes;
  made.memory = physical.memory;
  made.prop = physical.prop;
  all.add(std::move(made));
  return CUDA_SUCCESS;
}

}  // namespace
}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuMemGetAllocationGranularity(size_t* bytes, const CUmemAllocationProp* prop,
                                       CUmemAllocationGranularity_flags) {
  return call(__func__, [&](Lock&) {
    Device* device = nullptr;
    STANDIN_REQUIRE(bytes != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(check_prop(prop, device));
    *bytes = kGranularity;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemCreate(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp* prop,
                     unsigned long long flags) {
  return call(__func__, [&](Lock&) {
    Device* device = nullptr;
    STANDIN_REQUIRE(handle != nullptr && flags == 0, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(check_prop(prop, device));
    STANDIN_REQUIRE(bytes != 0 && granular(bytes), CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(check_unsafe());
    auto memory = DeviceMemory::create(*device, driver().next_id(), bytes);
    STANDIN_REQUIRE(memory != nullptr, CUDA_ERROR_OUT_OF_MEMORY);
    poison(*memory);
    *handle = add_physical(std::move(memory), *prop);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
  return call(__func__, [&](Lock&) {
    Physical* physical = find_physical(handle);
    STANDIN_REQUIRE(physical != nullptr, CUDA_ERROR_INVALID_VALUE);
    if (--physical->references == 0) tables().handles.erase(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAddressReserve(CUdeviceptr* pointer, size_t bytes, size_t alignment, CUdeviceptr,
                             unsigned long long flags) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(pointer != nullptr && bytes != 0 && granular(bytes) && flags == 0,
                    CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE((alignment & (alignment - 1)) == 0, CUDA_ERROR_INVALID_VALUE);
    Mapping made = Mapping::reserve(bytes, std::max(alignment, kGranularity));
    STANDIN_REQUIRE(!made.null(), CUDA_ERROR_OUT_OF_MEMORY);
    *pointer = reinterpret_cast<uintptr_t>(made.begin());
    tables().reserved[*pointer] = std::move(made);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemAddressFree(CUdeviceptr pointer, size_t bytes) {
  return call(__func__, [&](Lock&) {
    const auto found = tables().reserved.find(pointer);
    STANDIN_REQUIRE(found != tables().reserved.end() && found->second.bytes() == bytes,
                    CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE(!driver().allocations.overlaps(pointer, bytes), CUDA_ERROR_INVALID_VALUE);
    tables().reserved.erase(found);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemMap(CUdeviceptr pointer, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                  unsigned long long flags) {
  return call(__func__, [&](Lock&) {
    const Physical* physical = find_physical(handle);
    STANDIN_REQUIRE(physical != nullptr && offset == 0 && flags == 0, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(check_unsafe());
    return map(pointer, bytes, *physical);
  });
}

CUresult cuMemUnmap(CUdeviceptr pointer, size_t bytes) {
  return call(__func__, [&](Lock&) {
    STANDIN_TRY(check_unsafe());
    const std::vector<Allocation*> found = mapped_in(pointer, bytes);
    STANDIN_REQUIRE(!found.empty(), CUDA_ERROR_INVALID_VALUE);
    void* const mapped =
        ::mmap(at(pointer), bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    STANDIN_REQUIRE(mapped != MAP_FAILED, CUDA_ERROR_UNMAP_FAILED);
    for (const Allocation* mapping : found) driver().allocations.take(mapping->base);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemSetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  return call(__func__, [&](Lock&) {
    const std::vector<Allocation*> found = mapped_in(pointer, bytes);
    STANDIN_REQUIRE(!found.empty() && access != nullptr, CUDA_ERROR_INVALID_VALUE);
    for (Allocation* mapping : found)
      for (size_t i = 0; i < count; ++i) STANDIN_TRY(give_access(*mapping, access[i]));
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr pointer) {
  return call(__func__, [&](Lock&) {
    Device* device = nullptr;
    const Allocation* found = driver().allocations.find(pointer);
    STANDIN_REQUIRE(flags != nullptr && location != nullptr && found != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE(found->kind == Allocation::Kind::Virtual, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(find_device(location->id, device));
    const bool allowed = (found->devices_allowed >> device->ordinal & 1) != 0;
    *flags = allowed ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  });
}

CUresult cuMemExportToShareableHandle(void* shareable, CUmemGenericAllocationHandle handle,
                                      CUmemAllocationHandleType type, unsigned long long flags) {
  return call(__func__, [&](Lock&) {
    const Physical* physical = find_physical(handle);
    STANDIN_REQUIRE(shareable != nullptr && physical != nullptr && flags == 0, CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE(type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, CUDA_ERROR_NOT_SUPPORTED);
    STANDIN_REQUIRE((physical->prop.requestedHandleTypes & type) != 0, CUDA_ERROR_INVALID_VALUE);
    const int fd = ::fcntl(physical->memory->fd(), F_DUPFD_CLOEXEC, 0);
    STANDIN_REQUIRE(fd >= 0, CUDA_ERROR_OPERATING_SYSTEM);
    std::memcpy(shareable, &fd, sizeof fd);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemImportFromShareableHandle(CUmemGenericAllocationHandle* handle, void* shareable,
                                        CUmemAllocationHandleType type) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(handle != nullptr && type == CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                    CUDA_ERROR_INVALID_VALUE);
    const int given = static_cast<int>(reinterpret_cast<intptr_t>(shareable));
    const int fd = ::fcntl(given, F_DUPFD_CLOEXEC, 0);
    STANDIN_REQUIRE(fd >= 0, CUDA_ERROR_INVALID_VALUE);
    auto memory = DeviceMemory::adopt(fd);
    STANDIN_REQUIRE(memory != nullptr, CUDA_ERROR_INVALID_VALUE);
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, memory->device().ordinal};
    *handle = add_physical(std::move(memory), prop);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* handle, void* address) {
  return call(__func__, [&](Lock&) {
    const Allocation* found = driver().allocations.find(reinterpret_cast<uintptr_t>(address));
    STANDIN_REQUIRE(handle != nullptr && found != nullptr && found->kind == Allocation::Kind::Virtual,
                    CUDA_ERROR_INVALID_VALUE);
    for (auto& [number, physical] : tables().handles) {
      if (physical.memory != found->memory) continue;
      ++physical.references;
      *handle = number;
      return CUDA_SUCCESS;
    }
    *handle = add_physical(found->memory, found->prop);
    return CUDA_SUCCESS;
  });
}

CUresult cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                CUmemGenericAllocationHandle handle) {
  return call(__func__, [&](Lock&) {
    const Physical* physical = find_physical(handle);
    STANDIN_REQUIRE(prop != nullptr && physical != nullptr, CUDA_ERROR_INVALID_VALUE);
    *prop = physical->prop;
    return CUDA_SUCCESS;
  });
}
