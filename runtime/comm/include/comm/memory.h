// Memory that other processes can map, and the record of what users registered. Any thread.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <mutex>

#include "base/status.h"

namespace rondo {

/// Page-aligned memory of a memfd of its own; null for 0 bytes.
Result<void*> allocate_shared(size_t bytes);
/// InvalidArgument where `pointer` is not what allocate_shared() gave.
Status free_shared(void* pointer);

/// What a user registered with one communicator.
class Registrations {
 public:
  Result<void*> add(void* pointer, size_t bytes);
  /// InvalidArgument where `handle` is not one of add()'s.
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
