// Guard: where it is asked for, device memory can be touched only while an operation of a stream uses it, so
// that host code which follows a device pointer faults, as it does with a GPU.
#pragma once

namespace rondo::standin {

struct Allocation;

/// Held by an operation while it uses device memory. Not while it waits: others could use it as well.
class DeviceAccess {
 public:
  DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
  ~DeviceAccess();
};

/// Gives an allocation's addresses the protection that they should have now. Under Driver::mutex. False: the
/// system refused.
bool protect(const Allocation& allocation);

}  // namespace rondo::standin
