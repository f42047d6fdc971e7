// SPDX-License-Identifier: Apache-2.0
// Protection domains and memory regions.
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <limits>
#include <utility>

#include "context.h"

namespace rondo::fabric {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint32_t kKnownAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
                                  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_ON_DEMAND | IBV_ACCESS_HUGETLB;

struct MemoryRegion : ibv_mr {
  uint64_t pinned_bytes = 0;
};

bool may_lock_any() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3]{};
  return ::syscall(SYS_capget, &header, data) == 0 && (data[0].effective >> CAP_IPC_LOCK & 1) != 0;
}

uint64_t lock_limit() {
  const Settings& settings = process().settings;
  if (settings.has_memlock) return settings.memlock_bytes;
  rlimit limit{};
  if (may_lock_any() || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return std::numeric_limits<uint64_t>::max();
  return limit.rlim_cur;
}

/// Counts the pages; false: more than RLIMIT_MEMLOCK allows.
bool pin(uint64_t bytes) {
  if (process().pinned_bytes.fetch_add(bytes) + bytes <= lock_limit()) return true;
  process().pinned_bytes -= bytes;
  return false;
}

uint64_t pages_of(uint64_t addr, uint64_t length) {
  return (addr + length + kPage - 1) / kPage * kPage - addr / kPage * kPage;
}

/// Whether all pages are mapped, and writable if the device is to write. Those of GPUs are the driver's: the
/// process itself may not reach them.
bool is_mapped(uint64_t addr, uint64_t length, bool writable) {
  std::ifstream maps("/proc/self/maps");
  uint64_t covered = addr;
  for (std::string line; covered < addr + length && std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char rights[5] = "";
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights) != 3 || end <= covered) continue;
    const bool is_gpus = line.find("/memfd:rondo-standin-") != std::string::npos;
    if (is_gpus && !process().settings.has_peermem) return false;
    if (is_gpus) std::copy_n("rw", 2, rights);
    if (begin > covered || rights[0] != 'r' || (writable && rights[1] != 'w')) return false;
    covered = end;
  }
  return covered >= addr + length;
}

/// The open memfd of the stand-in for CUDA's driver that is mapped there, and the position of that byte in
/// it; -1: it is other memory.
std::pair<int, uint64_t> gpu_memory_at(uint64_t addr) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0, offset = 0, inode = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx %*s %lx %*s %lu", &begin, &end, &offset, &inode) != 4) continue;
    if (addr < begin || addr >= end) continue;
    if (line.find("/memfd:rondo-standin-") == std::string::npos) break;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      struct stat about {};
      const int fd = std::stoi(entry.path().filename());
      if (::fstat(fd, &about) == 0 && about.st_ino == inode) return {fd, offset + (addr - begin)};
    }
  }
  return {-1, 0};
}

int check_access(uint32_t access) {
  constexpr uint32_t kNeedsLocalWrite = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  if ((access & ~kKnownAccess) != 0) return EINVAL;
  if ((access & kNeedsLocalWrite) != 0 && (access & IBV_ACCESS_LOCAL_WRITE) == 0) return EINVAL;
  return (access & IBV_ACCESS_ON_DEMAND) != 0 && !process().settings.has_odp ? EINVAL : 0;
}

bool is_nth_failing() {
  process().count(Counted::Register);
  return process().settings.fails("register", ++process().registrations);
}

/// Registers with the fabric what has been checked and pinned.
ibv_mr* add(ibv_pd* pd, Request& request, void* addr, const std::vector<int>& fds, uint64_t pinned_bytes) {
  request.pd = pd->handle;
  const auto reply = ask(context_of(pd->context), request, fds);
  if (reply->error != 0) {
    process().pinned_bytes -= pinned_bytes;
    return refuse(reply->error);
  }
  auto* const region = new MemoryRegion;
  region->context = pd->context;
  region->pd = pd;
  region->addr = addr;
  region->length = request.length;
  region->handle = reply->handle;
  region->lkey = reply->lkey;
  region->rkey = reply->rkey;
  region->pinned_bytes = pinned_bytes;
  return region;
}

ibv_mr* register_memory(ibv_pd* pd, void* addr, size_t length, uint64_t iova, uint32_t access) {
  context_of(pd->context);
  access &= ~uint32_t{IBV_ACCESS_OPTIONAL_RANGE};
  const bool is_on_demand = (access & IBV_ACCESS_ON_DEMAND) != 0;
  const bool is_everything = is_on_demand && addr == nullptr && length == std::numeric_limits<size_t>::max();
  const auto begin = reinterpret_cast<uint64_t>(addr);
  if (const int error = check_access(access); error != 0) return refuse(error);
  if (length == 0 || (!is_everything && begin + length < begin)) return refuse(EINVAL);
  if (is_nth_failing()) return refuse(ENOMEM);
  if (!is_on_demand && !is_mapped(begin, length, (access & IBV_ACCESS_LOCAL_WRITE) != 0))
    return refuse(EFAULT);
  const uint64_t pinned = is_on_demand ? 0 : pages_of(begin, length);
  if (!pin(pinned)) return refuse(ENOMEM);
  const auto request = make_request(Call::Register);
  // Which the process itself may not reach at the moment.
  const auto [gpu_memory, position] = is_on_demand ? std::pair(-1, uint64_t{0}) : gpu_memory_at(begin);
  request->addr = gpu_memory >= 0 ? position : begin;
  request->length = length;
  request->iova = iova;
  request->access = access;
  return add(pd, *request, addr, gpu_memory >= 0 ? std::vector{gpu_memory} : std::vector<int>(), pinned);
}

}  // namespace
}  // namespace rondo::fabric

using namespace rondo::fabric;

EXPORTED ibv_pd* ibv_alloc_pd(ibv_context* handle) {
  const auto reply = ask(context_of(handle), *make_request(Call::AllocDomain));
  if (reply->error != 0) return refuse(reply->error);
  return new ibv_pd{handle, reply->handle};
}

EXPORTED int ibv_dealloc_pd(ibv_pd* pd) {
  const auto reply = ask(context_of(pd->context), *make_request(Call::FreeDomain, pd->handle));
  if (reply->error == 0) delete pd;
  return reply->error;
}

#undef ibv_reg_mr
EXPORTED ibv_mr* ibv_reg_mr(ibv_pd* pd, void* addr, size_t length, int access) {
  return register_memory(pd, addr, length, reinterpret_cast<uint64_t>(addr), static_cast<uint32_t>(access));
}

#undef ibv_reg_mr_iova
EXPORTED ibv_mr* ibv_reg_mr_iova(ibv_pd* pd, void* addr, size_t length, uint64_t iova, int access) {
  return register_memory(pd, addr, length, iova, static_cast<uint32_t>(access));
}

EXPORTED ibv_mr* ibv_reg_mr_iova2(ibv_pd* pd, void* addr, size_t length, uint64_t iova, unsigned access) {
  return register_memory(pd, addr, length, iova, access);
}

/// A memfd takes the place of a dmabuf, which begins at the descriptor's position.
EXPORTED ibv_mr* ibv_reg_dmabuf_mr(ibv_pd* pd, uint64_t offset, size_t length, uint64_t iova, int fd,
                                   int access) {
  if (!process().settings.has_dmabuf) return refuse(EOPNOTSUPP);
  const uint32_t given = static_cast<uint32_t>(access) & ~uint32_t{IBV_ACCESS_OPTIONAL_RANGE};
  if (const int error = check_access(given); error != 0) return refuse(error);
  if (length == 0) return refuse(EINVAL);
  if (is_nth_failing()) return refuse(ENOMEM);
  struct stat about {};
  const off_t begin = ::lseek(fd, 0, SEEK_CUR);
  if (begin < 0 || ::fstat(fd, &about) != 0) return refuse(EBADF);
  offset += static_cast<uint64_t>(begin);
  if (offset + length > static_cast<uint64_t>(about.st_size)) return refuse(EINVAL);
  const auto request = make_request(Call::Register);
  request->addr = offset;
  request->length = length;
  request->iova = iova;
  request->access = given;
  return add(pd, *request, nullptr, {fd}, 0);
}

EXPORTED int ibv_dereg_mr(ibv_mr* mr) {
  process().count(Counted::Deregister);
  auto* const region = static_cast<MemoryRegion*>(mr);
  const auto reply = ask(context_of(mr->context), *make_request(Call::Deregister, mr->handle));
  if (reply->error != 0) return reply->error;
  process().pinned_bytes -= region->pinned_bytes;
  delete region;
  return 0;
}
