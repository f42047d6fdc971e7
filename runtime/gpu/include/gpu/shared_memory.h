// Memory that kernels of several processes reach: of a device, or of the host. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/fd.h"
#include "base/status.h"

namespace rondo::gpu {

/// Memory of a device, seen by another one or the same. It stays while anybody sees it, in any process, so
/// that nobody's end pulls it away from under a kernel.
class SharedMemory {
 public:
  /// At least that many bytes of a device.
  static Result<SharedMemory> create(int device, size_t bytes);
  /// What create() made, in whatever process, for kernels of `device`. `bytes`: its bytes().
  static Result<SharedMemory> open(const Fd& fd, size_t bytes, int device);
  SharedMemory() = default;
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  /// What other processes open.
  Result<Fd> exported() const;

 private:
  static Status map(SharedMemory& memory, int device);
  uint64_t handle_ = 0;
  bool has_handle_ = false;
  std::byte* data_ = nullptr;
  size_t bytes_ = 0;
  bool mapped_ = false;
};

/// Host memory of the caller's, which kernels and streams of all devices reach while this lives.
class HostWindow {
 public:
  static Result<HostWindow> open(int device, void* memory, size_t bytes);
  HostWindow() = default;
  ~HostWindow();
  HostWindow(HostWindow&& other) noexcept;
  HostWindow& operator=(HostWindow&& other) noexcept;

  /// Where devices see it.
  std::byte* data() const { return data_; }

 private:
  int device_ = 0;
  void* memory_ = nullptr;
  std::byte* data_ = nullptr;
};

/// While it lives, the calling thread may allocate memory and ask about events although some stream is being
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
