// SPDX-License-Identifier: Apache-2.0
// Memory that other processes can map or open, and the buffers that users have registered. Any thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/exportable.h"
#include "base/status.h"

namespace rondo {

/// Page-aligned memory in its own memfd; null for 0 bytes.
Result<void*> allocate_shared(size_t bytes);
/// GPU memory; null for 0 bytes.
Result<void*> allocate_on_gpu(size_t bytes, int device);
/// Keeps memory from allocate_on_gpu() alive even after it is freed; null for other memory.
std::shared_ptr<const void> keep_on_gpu(const void* pointer);
/// InvalidArgument if `pointer` is not from one of the above.
Status free_allocated(void* pointer);

/// The buffers that a user registered with one communicator.
class Registrations {
 public:
  /// `by_devices`: this is host memory, which devices may access until it is removed.
  Result<void*> add(void* pointer, size_t bytes, bool by_devices);
  /// InvalidArgument if `handle` is not from add().
  Status check(void* handle);
  Status remove(void* handle);

 private:
  struct RegisteredRange {
    std::optional<AccessibleMemory> accessible;
  };
  std::mutex mutex_;
  std::map<void*, std::unique_ptr<RegisteredRange>> ranges_;
};

}  // namespace rondo
