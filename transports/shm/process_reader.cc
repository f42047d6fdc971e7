// SPDX-License-Identifier: Apache-2.0
#include "shm/process_reader.h"

#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <mutex>

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

}  // namespace

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
