#include "comm/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "base/fd.h"

namespace rondo {
namespace {

/// Sizes of what allocate_shared() gave, by address.
struct Allocations {
  std::mutex mutex;
  std::map<void*, size_t> bytes;
};

Allocations& allocations() {
  static auto& all = *new Allocations;
  return all;
}

Status no_memory(size_t bytes) { return system_error(fmt::format("cannot allocate {} bytes", bytes), errno); }

}  // namespace

Result<void*> allocate_shared(size_t bytes) {
  if (bytes == 0) return static_cast<void*>(nullptr);
  if (bytes > static_cast<size_t>(PTRDIFF_MAX))
    return error(Code::InvalidArgument, "bytes is {}, more than memory can hold", bytes);
  const Fd fd(::memfd_create("rondo-memory", MFD_CLOEXEC));
  if (!fd.valid() || ::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) return no_memory(bytes);
  void* pointer = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (pointer == MAP_FAILED) return no_memory(bytes);
  std::lock_guard lock(allocations().mutex);
  allocations().bytes[pointer] = bytes;
  return pointer;
}

Status free_shared(void* pointer) {
  if (pointer == nullptr) return {};
  std::lock_guard lock(allocations().mutex);
  const auto found = allocations().bytes.extract(pointer);
  if (found.empty())
    return error(Code::InvalidArgument, "ptr is {}, which is not memory from rondo_mem_alloc()", pointer);
  ::munmap(pointer, found.mapped());
  return {};
}

Result<void*> Registrations::add(void* pointer, size_t bytes) {
  if (pointer == nullptr || bytes == 0)
    return error(Code::InvalidArgument, "cannot register {} bytes at {}", bytes, pointer);
  auto range = std::make_unique<Range>(Range{pointer, bytes});
  void* handle = range.get();
  std::lock_guard lock(mutex_);
  ranges_[handle] = std::move(range);
  return handle;
}

Status Registrations::remove(void* handle) {
  std::lock_guard lock(mutex_);
  if (ranges_.erase(handle) == 0)
    return error(Code::InvalidArgument, "handle is {}, which is not registered with this communicator",
                 handle);
  return {};
}

}  // namespace rondo
