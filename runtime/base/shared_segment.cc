// SPDX-License-Identifier: Apache-2.0
#include "base/shared_segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <utility>

namespace rondo {
namespace {

/// Checks a memfd received from a peer.
Status check(const Fd& memfd, size_t bytes) {
  struct stat found {};
  if (::fstat(memfd.get(), &found) != 0) return system_error("a descriptor of shared memory", errno);
  if (static_cast<size_t>(found.st_size) != bytes)
    return error(Code::RemoteError, "the peer's shared memory has {} bytes instead of {}", found.st_size,
                 bytes);
  const int seals = ::fcntl(memfd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return error(Code::RemoteError, "the peer's shared memory is not sealed against shrinking");
  return {};
}

}  // namespace

SharedSegment::SharedSegment(SharedSegment&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

SharedSegment& SharedSegment::operator=(SharedSegment&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SharedSegment::~SharedSegment() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

Result<SharedSegment::Made> SharedSegment::make(size_t bytes) {
  Fd memfd(::memfd_create("rondo", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memfd.valid()) return system_error("memfd_create for shared memory", errno);
  if (::ftruncate(memfd.get(), static_cast<off_t>(bytes)) != 0)
    return system_error(fmt::format("sizing {} bytes of shared memory", bytes), errno);
  if (::fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return system_error("sealing shared memory", errno);
  SharedSegment segment;
  RONDO_TRY_ASSIGN(segment, map_part(memfd, bytes));
  return Made{std::move(segment), std::move(memfd)};
}

Result<SharedSegment> SharedSegment::map(const Fd& memfd, size_t bytes) {
  RONDO_TRY(check(memfd, bytes));
  return map_part(memfd, bytes);
}

Result<SharedSegment> SharedSegment::map_to_read(const Fd& memfd, size_t bytes) {
  RONDO_TRY(check(memfd, bytes));
  return map_as(memfd, bytes, PROT_READ);
}

Result<SharedSegment> SharedSegment::map_part(const Fd& memfd, size_t bytes) {
  return map_as(memfd, bytes, PROT_READ | PROT_WRITE);
}

Result<SharedSegment> SharedSegment::map_as(const Fd& memfd, size_t bytes, int protection) {
  void* base = ::mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, memfd.get(), 0);
  if (base == MAP_FAILED) return system_error(fmt::format("mapping {} bytes of shared memory", bytes), errno);
  return SharedSegment(base, bytes);
}

}  // namespace rondo
