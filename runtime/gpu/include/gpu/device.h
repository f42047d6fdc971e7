// CUDA's devices and which of them a thread uses. The driver is looked for when something here first needs
// it, so that one binary serves machines with and without a GPU. Any thread.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>

#include "base/status.h"

namespace rondo::gpu {

/// The number of devices that this process may use; Unsupported, with the reason, where there is none.
Result<int> device_count();

/// The newest version of CUDA that the driver knows: major * 1000 + minor * 10.
Result<int> driver_version();

/// Whether this process has used CUDA already. Does not load anything.
bool in_use();

/// The device that is current on the calling thread; nothing where it has none.
std::optional<int> current_device();

struct DeviceInfo {
  std::string name;
  std::array<std::byte, 16> uuid{};  // the same in all processes
  int processors = 0;                // multiprocessors
};
Result<DeviceInfo> device_info(int device);

/// Whether kernels of `device` can be made to reach memory of `peer`.
bool can_reach(int device, int peer);
/// Whether they are one device, or what lies between them keeps the order and the size of stores, as NVLink
/// does.
bool linked(int device, int peer);
/// Lets kernels of `device` reach memory of `peer`; also where they can already.
Status reach(int device, int peer);

/// Makes a device's primary context the calling thread's while it lives; check status() before anything else:
/// SystemError where the device was reset since this process first used it.
class Current {
 public:
  explicit Current(int device);
  ~Current();
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;
  const Status& status() const { return status_; }
  /// The calling thread's; nothing where none lives.
  static std::optional<int> device();

 private:
  Status status_;
  int before_ = -1;  // the thread's, until now; -1: none
};

}  // namespace rondo::gpu
