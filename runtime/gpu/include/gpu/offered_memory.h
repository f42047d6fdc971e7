// SPDX-License-Identifier: Apache-2.0
// OfferedMemory: memory that one process of a host makes for the GPUs of others to access, and that the
// others open by a descriptor: memory of its GPU or, if the GPUs cannot access one another's, of the host.
// Any thread.
#pragma once

#include <cstddef>

#include "base/fd.h"
#include "base/shared_segment.h"
#include "base/status.h"
#include "gpu/shared_memory.h"

namespace rondo::gpu {

class OfferedMemory {
 public:
  OfferedMemory() = default;
  struct Made;
  /// At least `bytes`, mapped for the device. Initially zero if on the host.
  static Result<Made> make(bool on_host, int device, size_t bytes);
  /// Maps what another process has made. `offered_bytes`: its bytes(). RemoteError if it is less than
  /// `bytes`.
  static Result<OfferedMemory> open(bool on_host, int device, const Fd& descriptor, size_t offered_bytes,
                                    size_t bytes);

  /// Its address for the device.
  std::byte* data() const { return on_host_.data() != nullptr ? window_.data() : on_device_.data(); }
  size_t bytes() const { return on_host_.data() != nullptr ? on_host_.bytes() : on_device_.bytes(); }

 private:
  explicit OfferedMemory(SharedMemory on_device) : on_device_(std::move(on_device)) {}
  static Result<OfferedMemory> show(SharedSegment segment, int device);

  SharedMemory on_device_;
  SharedSegment on_host_;
  HostWindow window_;  // onto on_host_; destroyed before it
};

struct OfferedMemory::Made {
  OfferedMemory memory;
  Fd descriptor;
};

}  // namespace rondo::gpu
