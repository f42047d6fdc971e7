// SPDX-License-Identifier: Apache-2.0
#include "gpu/ipc.h"

#include <cstring>

#include "driver.h"
#include "gpu/device.h"

namespace rondo::gpu {
Result<Allocation> allocation_of(const void* pointer, int device) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  const Current current(device);
  RONDO_TRY(current.status());
  CUdeviceptr base = 0;
  Allocation found;
  RONDO_TRY(outcome(cuda->cuMemGetAddressRange(&base, &found.bytes, address(pointer)),
                    "querying the allocation of an address"));
  found.base = reinterpret_cast<std::byte*>(base);
  return found;
}

Result<IpcHandle> export_memory(const void* base, int device) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  const Current current(device);
  RONDO_TRY(current.status());
  CUipcMemHandle handle{};
  RONDO_TRY(outcome(cuda->cuIpcGetMemHandle(&handle, address(base)), "exporting memory to other processes"));
  IpcHandle exported;
  static_assert(sizeof exported == sizeof handle);
  std::memcpy(exported.bytes.data(), &handle, sizeof handle);
  return exported;
}

Result<ImportedMemory> ImportedMemory::open(const IpcHandle& handle, int device) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  const Current current(device);
  RONDO_TRY(current.status());
  CUipcMemHandle given{};
  std::memcpy(&given, handle.bytes.data(), sizeof given);
  CUdeviceptr base = 0;
  RONDO_TRY(outcome(cuda->cuIpcOpenMemHandle(&base, given, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
                    "opening another process's memory"));
  ImportedMemory memory;
  memory.base_ = {reinterpret_cast<std::byte*>(base), {device}};
  return memory;
}

void ImportedMemory::CloseMemory::operator()(std::byte* base) const {
  const Current current(device);
  if (current.status().ok()) driver().value()->cuIpcCloseMemHandle(address(base));
}

}  // namespace rondo::gpu
