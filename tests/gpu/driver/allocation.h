// Allocations: what is at which address. Guarded by Driver::mutex.
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
  size_t bytes = 0;  // that were asked for
  CUcontext context = nullptr;
  uint64_t id = 0;
  std::shared_ptr<DeviceMemory> memory;
  Mapping mapping;
  unsigned opened = 0;           // Imported: how often
  bool exported = false;         // Device: other processes may have it open
  CUmemAllocationProp prop{};    // Virtual
  uint64_t devices_allowed = 0;  // Virtual: a bit each

  bool on_host() const { return kind == Kind::Host || kind == Kind::Registered; }
  bool holds(uintptr_t address, size_t length) const {
    return address >= base && address - base <= bytes && length <= bytes - (address - base);
  }
  /// Whether kernels and memory operations of the context can follow its addresses.
  bool reached_by(CUcontext user) const;
  int ordinal() const;
};

class Allocations {
 public:
  Allocation& add(Allocation allocation);
  /// What the address is in; null: nothing.
  Allocation* find(CUdeviceptr address);
  /// What begins at the address and is of that kind; null: nothing.
  Allocation* at(CUdeviceptr address, Allocation::Kind kind);
  bool overlaps(uintptr_t begin, size_t bytes) const;
  /// Out of the table; the memory goes with the result.
  Allocation take(uintptr_t base);

  auto begin() { return all_.begin(); }
  auto end() { return all_.end(); }

 private:
  std::map<uintptr_t, Allocation> all_;
};

}  // namespace rondo::standin
