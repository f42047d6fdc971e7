#include "shm/process_reader.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <mutex>
#include <vector>

#include "base/clock.h"

namespace rondo::shm {
namespace {

bool read_process(pid_t process, uint64_t address, std::byte* place, size_t bytes) {
  const iovec here{place, bytes};
  const iovec there{reinterpret_cast<void*>(address), bytes};
  return ::process_vm_readv(process, &here, 1, &there, 1, 0) == static_cast<ssize_t>(bytes);
}

/// The least time of some.
template <typename Copy>
int64_t quickest_ns(const Copy& copy) {
  constexpr int kTimes = 5;
  int64_t least = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < kTimes; ++i) {
    const int64_t start = now_ns();
    copy();
    least = std::min(least, now_ns() - start);
  }
  return least;
}

/// Through a slot go two copies, and the slot's cache lines from core to core and back, which takes as long
/// again. Reading is one copy and what the kernel does for each page.
bool measure_reading() {
  constexpr size_t kBytes = size_t{64} * 1024;
  constexpr int64_t kCopiesThroughSlot = 4;
  const std::vector<std::byte> from(kBytes, std::byte{1});
  std::vector<std::byte> to(kBytes, std::byte{2});
  const auto at = reinterpret_cast<uint64_t>(from.data());
  if (!read_process(::getpid(), at, to.data(), kBytes)) return false;
  const int64_t read_ns = quickest_ns([&] { read_process(::getpid(), at, to.data(), kBytes); });
  const int64_t copy_ns = quickest_ns([&] {
    std::memcpy(to.data(), from.data(), kBytes);
    asm volatile("" : : "r"(to.data()) : "memory");  // it is made, though nobody looks at it
  });
  return read_ns < kCopiesThroughSlot * copy_ns;
}

}  // namespace

Landmark own_landmark() {
  static std::mutex mutex;
  static pid_t process = 0;
  static uint64_t word = 0;
  const std::lock_guard lock(mutex);
  if (process != ::getpid()) {
    process = ::getpid();
    while (::getrandom(&word, sizeof word, 0) < 0 && errno == EINTR) {
    }
  }
  return {reinterpret_cast<uint64_t>(&word), word};
}

Result<ProcessReader> ProcessReader::open(const Fd& socket, const Landmark& landmark) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.pid == 0)
    return error(Code::SystemError, "its process is not known here: {}", std::strerror(errno));
  uint64_t word = 0;
  if (!read_process(peer.pid, landmark.address, reinterpret_cast<std::byte*>(&word), sizeof word))
    return error(Code::SystemError, "process_vm_readv() of process {}: {}", peer.pid, std::strerror(errno));
  if (word != landmark.word)
    return error(Code::SystemError, "process {} is not the one at the other end", peer.pid);
  return ProcessReader(peer.pid);
}

bool ProcessReader::read(uint64_t address, std::byte* place, size_t bytes) const {
  return can_read() && read_process(process_, address, place, bytes);
}

bool is_reading_quick() {
  static const bool is_quick = measure_reading();
  return is_quick;
}

}  // namespace rondo::shm
