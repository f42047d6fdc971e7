#include "shm/segment.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <atomic>
#include <cerrno>
#include <utility>

namespace rondo::shm {
namespace {

constexpr size_t kPage = 4096;  // the smallest page that Linux has

size_t whole_pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

/// Offsets of one direction's parts; check_params() has bounded the numbers, so nothing here overflows.
struct FifoOffsets {
  explicit FifoOffsets(const AgreedParams& params)
      : stride(whole_pages(params.slot_bytes)),
        headers(sizeof(ReleasedCounter)),
        memory(whole_pages(headers + params.slots * sizeof(SlotHeader))),
        end(memory + params.slots * stride) {}
  size_t stride;
  size_t headers;
  size_t memory;
  size_t end;
};

size_t segment_bytes(const AgreedParams& params) { return kPage + 2 * FifoOffsets(params).end; }

}  // namespace

Segment::Segment(Segment&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}

Segment& Segment::operator=(Segment&& other) noexcept {
  std::swap(base_, other.base_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Segment::~Segment() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

FifoLayout Segment::fifo(int direction, const AgreedParams& params) const {
  const FifoOffsets offsets(params);
  std::byte* start = static_cast<std::byte*>(base_) + kPage + static_cast<size_t>(direction) * offsets.end;
  return {.headers = reinterpret_cast<SlotHeader*>(start + offsets.headers),
          .released = reinterpret_cast<ReleasedCounter*>(start),
          .memory = start + offsets.memory,
          .stride_bytes = offsets.stride,
          .slot_bytes = params.slot_bytes,
          .slots = params.slots};
}

Result<Segment::Made> Segment::make(const AgreedParams& params) {
  const size_t bytes = segment_bytes(params);
  Fd memfd(::memfd_create("rondo", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memfd.valid()) return system_error("memfd_create for a shm connection", errno);
  if (::ftruncate(memfd.get(), static_cast<off_t>(bytes)) != 0)
    return system_error(fmt::format("sizing the {} bytes of a shm connection", bytes), errno);
  if (::fcntl(memfd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return system_error("sealing the memory of a shm connection", errno);
  Segment segment;
  RONDO_TRY_ASSIGN(segment, map_bytes(memfd, bytes));
  return Made{std::move(segment), std::move(memfd)};
}

Result<Segment> Segment::map(const Fd& memfd, const AgreedParams& params) {
  struct stat found {};
  if (::fstat(memfd.get(), &found) != 0) return system_error("a shm connection's descriptor", errno);
  const size_t bytes = segment_bytes(params);
  if (static_cast<size_t>(found.st_size) != bytes)
    return error(Code::RemoteError, "the peer's shared memory has {} bytes where {} belong", found.st_size,
                 bytes);
  const int seals = ::fcntl(memfd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0)
    return error(Code::RemoteError, "the peer's shared memory is not sealed against shrinking");
  return map_bytes(memfd, bytes);
}

Result<Segment> Segment::map_bytes(const Fd& memfd, size_t bytes) {
  void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, memfd.get(), 0);
  if (base == MAP_FAILED)
    return system_error(fmt::format("mapping the {} bytes of a shm connection", bytes), errno);
  return Segment(base, bytes);
}

Status Segment::refuse(const Fd& memfd, const AgreedParams& own) {
  struct stat found {};
  if (::fstat(memfd.get(), &found) != 0 || static_cast<size_t>(found.st_size) < kPage) return {};
  Segment first_page;
  RONDO_TRY_ASSIGN(first_page, map_bytes(memfd, kPage));
  SegmentHead* head = first_page.head();
  head->slot_bytes = own.slot_bytes;
  head->slots = own.slots;
  // Pairs with the acquire load in ShmConnection::status().
  std::atomic_ref(head->refused).store(1, std::memory_order_release);
  return {};
}

}  // namespace rondo::shm
