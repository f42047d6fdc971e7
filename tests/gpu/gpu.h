// What tests of the C API on GPU memory share. They run on a GPU where there is one, and on the stand-in for
// CUDA's driver everywhere.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"
#include "catch.h"
#include "gpu/device.h"
#include "gpu/memory.h"
#include "world.h"

namespace rondo::test {

/// Says that the test is skipped where it needs more GPUs than there are.
inline bool lacks_gpus(int needed = 1) {
  const auto count = gpu::device_count();
  if (count.ok() && count.value() >= needed) return false;
  WARN("skipped: " << (count.ok() ? "needs " + std::to_string(needed) + " GPUs" : count.status().message()));
  return true;
}

inline void require_ok(const Status& status) { require(status.ok(), status.message()); }

/// Memory of one kind, of one device.
inline ForeignMemory foreign_memory(gpu::MemoryKind kind, int device) {
  return {.allocate =
              [=](size_t bytes) {
                auto memory = gpu::Memory::allocate(kind, device, bytes);
                require_ok(memory.status());
                const auto kept = std::make_shared<gpu::Memory>(memory.take());
                return std::shared_ptr<std::byte>(kept, kept->data());
              },
          .copy =
              [=](void* to, const void* from, size_t bytes) {
                const gpu::Current current(device);
                require_ok(current.status());
                require_ok(gpu::copy(to, from, bytes));
              }};
}

}  // namespace rondo::test
