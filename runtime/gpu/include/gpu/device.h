// SPDX-License-Identifier: Apache-2.0
// CUDA devices, and which of them a thread uses. The driver is loaded when first needed, so that one binary
// runs on machines with and without a GPU. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "base/status.h"

namespace rondo::gpu {

/// The number of devices that this process may use; Unsupported, with the reason, if there is none.
Result<int> device_count();

/// The newest version of CUDA that the driver supports: major * 1000 + minor * 10.
Result<int> driver_version();

/// Whether this process has already used CUDA. Does not load anything.
bool in_use();

/// The calling thread's current device; nothing if it has none.
std::optional<int> current_device();

struct DeviceInfo {
  std::string name;
  std::array<std::byte, 16> uuid{};  // the same in all processes
  int processors = 0;                // multiprocessors
};
Result<DeviceInfo> device_info(int device);

/// Where the device is on the PCI bus, as the kernel writes it: "0000:17:00.0".
Result<std::string> bus_id(int device);

/// Whether kernels on `device` can be given access to memory of `peer`.
bool can_reach(int device, int peer);
/// Whether they are the same device, or have a link that preserves the order and size of stores, as NVLink.
bool linked(int device, int peer);
/// Gives kernels on `device` access to memory of `peer`; no error if they already have it.
Status reach(int device, int peer);

/// Makes a device's primary context current on the calling thread for its lifetime. Check status() before
/// anything else: SystemError if the device was reset since this process first used it.
class Current {
 public:
  explicit Current(int device);
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  const Status& status() const { return status_; }
  /// The device of the calling thread's innermost Current; nothing if there is none.
  static std::optional<int> device();

 private:
  Status status_;
  int before_ = -1;  // the thread's previous device; -1: none
};

}  // namespace rondo::gpu
