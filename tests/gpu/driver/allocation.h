// SPDX-License-Identifier: Apache-2.0
// Allocations by address. Guarded by Driver::mutex.
#pragma once

#include <cuda.h>

#include <cstdint>
#include <map>
#include <memory>

#include "device_memory.h"

namespace rondo::standin {

struct Allocation {
  enum class Kind {
    Device,      // cuMemAlloc
    Managed,     // cuMemAllocManaged
    Host,        // cuMemHostAlloc
    Registered,  // cuMemHostRegister
    Virtual,     // cuMemMap
    Imported,    // cuIpcOpenMemHandle
  };
  Kind kind = Kind::Device;
  uintptr_t base = 0;
  size_t bytes = 0;  // as requested
  CUcontext context = nullptr;
  uint64_t id = 0;
  std::shared_ptr<DeviceMemory> memory;
  Mapping mapping;
  unsigned opened = 0;           // Imported: number of times
  bool exported = false;         // Device: other processes may have it open
  CUmemAllocationProp prop{};    // Virtual
  uint64_t devices_allowed = 0;  // Virtual: one bit per device

  bool on_host() const { return kind == Kind::Host || kind == Kind::Registered; }
  bool holds(uintptr_t address, size_t length) const {
    return address >= base && address - base <= bytes && length <= bytes - (address - base);
  }
  /// Whether kernels and memory operations of the context can use its addresses.
  bool reached_by(CUcontext user) const;
  int ordinal() const;
};

class Allocations {
 public:
  Allocation& add(Allocation allocation);
  /// The allocation that contains the address; null if there is none.
  Allocation* find(CUdeviceptr address);
  /// The allocation of that kind that begins at the address; null if there is none.
  Allocation* at(CUdeviceptr address, Allocation::Kind kind);
  bool overlaps(uintptr_t begin, size_t bytes) const;
  /// Removes the allocation from the table; its memory is freed with the result.
  Allocation take(uintptr_t base);

  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }

 private:
  std::map<uintptr_t, Allocation> all_;
};

}  // namespace rondo::standin
