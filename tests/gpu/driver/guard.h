// SPDX-License-Identifier: Apache-2.0
// Guard: if enabled, device memory is accessible only while an operation of a stream uses it, so that host
// code which dereferences a device pointer faults, as it does with a GPU.
#pragma once

namespace rondo::standin {

struct Allocation;

/// Held by an operation while it uses device memory, but not while it waits, since others could use it then.
class DeviceAccess {
 public:
  DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
  DeviceAccess& operator=(const DeviceAccess&) = delete;
  ~DeviceAccess();
};

/// Sets the protection that an allocation's addresses should have now. Requires Driver::mutex. Returns false
/// if the system refused.
bool protect(const Allocation& allocation);

}  // namespace rondo::standin
