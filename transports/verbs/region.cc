// SPDX-License-Identifier: Apache-2.0
#include "verbs/region.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>

#include "base/log.h"

namespace rondo::verbs {
namespace {

constexpr uint64_t kFirstTold = uint64_t{16} << 20;

/// Registered memory counts as locked.
Status cannot_register(const Region::PinnedRange& place, const char* device, int cause) {
  const std::string what = fmt::format("registering {} bytes with {}", place.bytes, device);
  rlimit limit{};
  if (cause != ENOMEM || ::getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return system_error(what, cause);
  return error(
      Code::InvalidUsage,
      "{}: the limit on locked memory, RLIMIT_MEMLOCK, is {} KiB; raise it by memlock in "
      "/etc/security/limits.d, LimitMEMLOCK=infinity in a unit of systemd, or --ulimit memlock=-1 for "
      "a container",
      what, limit.rlim_cur / 1024);
}

}  // namespace

bool PinnedBytes::add(uint64_t bytes, uint64_t max) {
  uint64_t before = total();
  do {
    if (before > max || bytes > max - before) return false;
  } while (!total_.compare_exchange_weak(before, before + bytes, std::memory_order_relaxed));
  const uint64_t now = before + bytes;
  uint64_t told = told_.load(std::memory_order_relaxed);
  if (now >= std::max(kFirstTold, 2 * told) &&
      told_.compare_exchange_strong(told, now, std::memory_order_relaxed))
    log().info("InfiniBand and RoCE pin {} MiB of this process", now >> 20);
  return true;
}

/// Relaxed ordering lets bytes land in any order, which is right where only completions are believed. Devices
/// without it ignore it.
Result<std::unique_ptr<Region>> Region::make(const Library& verbs, ibv_pd* domain, const PinnedRange& place,
                                             WrittenBy writer, PinnedBytes& pinned, uint64_t max) {
  const char* const device = verbs.get_device_name(domain->context->device);
  if (!pinned.add(place.bytes, max))
    return error(Code::InvalidUsage,
                 "registering {} bytes with {}: RONDO_IB_BYTES is {}, of which {} are used", place.bytes,
                 device, max, pinned.total());
  auto made = std::unique_ptr<Region>(new Region(verbs, place, pinned));
  unsigned access = IBV_ACCESS_RELAXED_ORDERING;
  if (writer == WrittenBy::Peer) access |= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  auto* const at = const_cast<std::byte*>(place.at);  // written only if `access` says so
  made->registered_ = verbs.reg_mr_iova2(domain, at, place.bytes, reinterpret_cast<uint64_t>(at), access);
  if (made->registered_ == nullptr) return cannot_register(place, device, errno);
  return made;
}

Region::~Region() {
  if (registered_ != nullptr) verbs_.dereg_mr(registered_);
  pinned_.remove(place_.bytes);
}

}  // namespace rondo::verbs
