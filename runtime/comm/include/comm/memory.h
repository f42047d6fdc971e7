// Memory that other processes can map or open, and the record of what users registered. Any thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "base/status.h"

namespace rondo {

/// Page-aligned memory of a memfd of its own; null for 0 bytes.
Result<void*> allocate_shared(size_t bytes);
/// Memory of a GPU; null for 0 bytes.
Result<void*> allocate_on_gpu(size_t bytes, int device);
/// What keeps memory of allocate_on_gpu() there, also when it is freed; null for other memory.
std::shared_ptr<const void> keep_on_gpu(const void* pointer);
/// InvalidArgument where `pointer` is not what one of these gave.
Status free_allocated(void* pointer);

/// What a user registered with one communicator.
class Registrations {
 public:
  Result<void*> add(void* pointer, size_t bytes);
  /// InvalidArgument where `handle` is not one of add()'s.
  Status check(void* handle);
  Status remove(void* handle);

 private:
  struct Range {
    void* pointer;
    size_t bytes;
  };
  std::mutex mutex_;
  std::map<void*, std::unique_ptr<Range>> ranges_;
};

}  // namespace rondo
