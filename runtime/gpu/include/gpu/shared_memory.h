// SPDX-License-Identifier: Apache-2.0
// Memory of a device or of the host that kernels of several processes can access. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/fd.h"
#include "base/status.h"

namespace rondo::gpu {

/// Memory of a device, mapped for another one or the same. It exists as long as any process has it mapped, so
/// that no process can free it under another's kernel by exiting.
class SharedMemory {
 public:
  /// Allocates at least that many bytes on a device.
  static Result<SharedMemory> create(int device, size_t bytes);
  /// Maps memory from create(), of any process, for kernels on `device`. `bytes`: its bytes().
  static Result<SharedMemory> open(const Fd& fd, size_t bytes, int device);
  SharedMemory() = default;
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  /// A descriptor that other processes can open.
  Result<Fd> exported() const;

 private:
  static Status map(SharedMemory& memory, int device);
  uint64_t handle_ = 0;
  bool has_handle_ = false;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  bool mapped_ = false;
};

/// The caller's host memory, accessible to kernels and streams of all devices while this lives.
class HostWindow {
 public:
  static Result<HostWindow> open(int device, void* memory, size_t bytes);

  /// Its address on the devices.
  std::byte* data() const { return data_; }

 private:
  struct UnregisterMemory {
    int device;
    void operator()(void* memory) const;
  };
  std::unique_ptr<void, UnregisterMemory> memory_;
  std::byte* data_ = nullptr;
};

/// While it lives, the calling thread may allocate memory and query events even if some stream is being
/// captured into a graph.
class OutsideCapture {
 public:
  OutsideCapture();
  ~OutsideCapture();
  OutsideCapture(const OutsideCapture&) = delete;
  OutsideCapture& operator=(const OutsideCapture&) = delete;

 private:
  int before_ = -1;  // a CUstreamCaptureMode; -1: none
};

}  // namespace rondo::gpu
