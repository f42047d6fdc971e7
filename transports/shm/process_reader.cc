// SPDX-License-Identifier: Apache-2.0
#include "shm/process_reader.h"

#include <sys/prctl.h>
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

/// Reads the cookie in the same call, so that neither a reused PID nor a process that has since called exec()
/// can pass for the peer.
bool read_process(pid_t process, const PidCookie& cookie, uint64_t address, std::byte* place, size_t bytes) {
  uint64_t word = 0;
  const iovec here[] = {{&word, sizeof word}, {place, bytes}};
  const iovec there[] = {{reinterpret_cast<void*>(cookie.address), sizeof word},
                         {reinterpret_cast<void*>(address), bytes}};
  const auto all = static_cast<ssize_t>(sizeof word + bytes);
  return ::process_vm_readv(process, here, 2, there, 2, 0) == all && word == cookie.word;
}

/// The time of the quickest of a few.
template <typename Copy>
int64_t quickest_ns(const Copy& copy) {
  constexpr int kTimes = 5;
  int64_t quickest = std::numeric_limits<int64_t>::max();
  for (int i = 0; i < kTimes; ++i) {
    const int64_t start_ns = now_ns();
    copy();
    quickest = std::min(quickest, now_ns() - start_ns);
  }
  return quickest;
}

constexpr size_t kMeasuredBytes = size_t{64} * 1024;

double measure_copy() {
  const std::vector<std::byte> from(kMeasuredBytes, std::byte{1});
  std::vector<std::byte> to(kMeasuredBytes, std::byte{2});
  const int64_t ns = quickest_ns([&] {
    std::memcpy(to.data(), from.data(), kMeasuredBytes);
    asm volatile("" : : "r"(to.data()) : "memory");  // so that it is not left out
  });
  return static_cast<double>(ns) / kMeasuredBytes;
}

/// Two copies through a slot, of which each moves cache lines between two cores, take about as long as four
/// within one.
bool measure_reading() {
  constexpr double kCopiesThroughSlot = 4;
  const auto cookie = own_cookie();
  if (!cookie) return false;
  const std::vector<std::byte> from(kMeasuredBytes, std::byte{1});
  std::vector<std::byte> to(kMeasuredBytes, std::byte{2});
  const auto read = [&] {
    return read_process(::getpid(), *cookie, reinterpret_cast<uint64_t>(from.data()), to.data(),
                        kMeasuredBytes);
  };
  if (!read()) return false;
  const int64_t read_ns = quickest_ns(read);
  return static_cast<double>(read_ns) < kCopiesThroughSlot * copy_ns_per_byte() * kMeasuredBytes;
}

}  // namespace

double copy_ns_per_byte() {
  static const double ns_per_byte = measure_copy();
  return ns_per_byte;
}

bool is_reading_quick() {
  static const bool is_quick = measure_reading();
  return is_quick;
}

std::optional<PidCookie> own_cookie() {
  static std::mutex mutex;
  static pid_t process = 0;
  static uint64_t word = 0;
  const std::lock_guard lock(mutex);
  if (process != ::getpid()) {
    if (::getrandom(&word, sizeof word, 0) != sizeof word) return std::nullopt;
    process = ::getpid();
  }
  return PidCookie{reinterpret_cast<uint64_t>(&word), word};
}

void admit_siblings() {
  const pid_t parent = ::getppid();
  // 1: the parent has ended, and every process would be admitted. 0: it is in another PID namespace.
  if (parent > 1) ::prctl(PR_SET_PTRACER, static_cast<unsigned long>(parent), 0, 0, 0);  // EINVAL: no Yama
}

Result<ProcessReader> ProcessReader::open(const Fd& socket, const PidCookie& cookie) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.pid == 0)
    return error(Code::SystemError, "the kernel does not identify the peer's process");
  std::byte none{};
  errno = 0;
  if (read_process(peer.pid, cookie, cookie.address, &none, 0)) return ProcessReader(peer.pid, cookie);
  return error(Code::SystemError, "process_vm_readv() of process {}: {}", peer.pid,
               errno != 0 ? std::strerror(errno) : "it is not the peer");
}

bool ProcessReader::read(uint64_t address, std::byte* place, size_t bytes) const {
  return can_read() && read_process(process_, cookie_, address, place, bytes);
}

}  // namespace rondo::shm
