// SPDX-License-Identifier: Apache-2.0
#include "verbs/region.h"

#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <limits>

#include "base/error_kinds.h"
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
      ErrorKind::LockedMemoryLimit,
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
    return error(ErrorKind::VerbsBytesUsed,
                 "registering {} bytes with {}: RONDO_IB_BYTES is {}, of which {} are used", place.bytes,
                 device, max, pinned.total());
  auto made = std::unique_ptr<Region>(new Region(verbs, place, writer, pinned));
  made->pinned_bytes_ = place.bytes;
  unsigned access = IBV_ACCESS_RELAXED_ORDERING;
  if (writer == WrittenBy::Peer) access |= IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
  auto* const at = const_cast<std::byte*>(place.at);  // written only if `access` says so
  made->registered_ = verbs.reg_mr_iova2(domain, at, place.bytes, reinterpret_cast<uint64_t>(at), access);
  if (made->registered_ == nullptr) return cannot_register(place, device, errno);
  return made;
}

Result<std::unique_ptr<Region>> Region::make_of_gpu(const Library& verbs, ibv_pd* domain,
                                                    const ExportableMemory& piece, PinnedBytes& pinned) {
  auto made = std::unique_ptr<Region>(new Region(verbs, {piece.begin, piece.bytes}, WrittenBy::Peer, pinned));
  made->gpu_ = piece.gpu;
  const char* const device = verbs.get_device_name(domain->context->device);
  unsigned access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_RELAXED_ORDERING;
  if (piece.gpu->visibility() == GpuMemory::Visibility::AfterRead) access |= IBV_ACCESS_REMOTE_READ;
  const auto at = reinterpret_cast<uint64_t>(piece.begin);
  const auto dmabuf = piece.gpu->dmabuf();
  std::string refused = dmabuf.status().message();
  if (dmabuf.ok() && verbs.reg_dmabuf_mr == nullptr) refused = "libibverbs has no ibv_reg_dmabuf_mr";
  if (refused.empty()) {
    made->registered_ =
        verbs.reg_dmabuf_mr(domain, 0, piece.bytes, at, dmabuf.value().get(), static_cast<int>(access));
    if (made->registered_ != nullptr) {
      log().info("{} bytes of a GPU are registered with {} by a dmabuf", piece.bytes, device);
      return made;
    }
    refused = fmt::format("ibv_reg_dmabuf_mr: {}", std::strerror(errno));
  }
  made->registered_ = verbs.reg_mr_iova2(domain, piece.begin, piece.bytes, at, access);
  if (made->registered_ != nullptr) {
    log().info("{} bytes of a GPU are registered with {} by nvidia-peermem: {}", piece.bytes, device,
               refused);
    return made;
  }
  return error(ErrorKind::NoGpuDirect,
               "registering {} bytes of a GPU with {}: {}; without a dmabuf: {} (is nvidia-peermem loaded?)",
               piece.bytes, device, refused, std::strerror(errno));
}

Region::~Region() {
  if (registered_ != nullptr) verbs_.dereg_mr(registered_);
  pinned_.remove(pinned_bytes_);
}

/// The capability is asked of the device's driver, without the header's fallback, which is a function of the
/// library.
Result<std::unique_ptr<Region>> Region::make_of_everything(const Library& verbs, ibv_pd* domain,
                                                           PinnedBytes& pinned) {
  const char* const device = verbs.get_device_name(domain->context->device);
  ibv_device_attr_ex can{};
  verbs_context* const driver = verbs_get_ctx(domain->context);
  // Old drivers have fewer functions: those at the structure's beginning are missing.
  constexpr size_t kBehind = sizeof(verbs_context) - offsetof(verbs_context, query_device_ex);
  const bool is_known = driver != nullptr && driver->sz >= kBehind && driver->query_device_ex != nullptr &&
                        driver->query_device_ex(domain->context, nullptr, &can, sizeof can) == 0;
  if (!is_known || (can.odp_caps.general_caps & IBV_ODP_SUPPORT_IMPLICIT) == 0 ||
      (can.odp_caps.per_transport_caps.rc_odp_caps & IBV_ODP_SUPPORT_WRITE) == 0)
    return error(ErrorKind::NoPagingOnDemand, "{} cannot page all memory on demand", device);
  constexpr PinnedRange kEverything{nullptr, std::numeric_limits<uint64_t>::max()};
  auto made = std::unique_ptr<Region>(new Region(verbs, kEverything, WrittenBy::Owner, pinned));
  made->registered_ = verbs.reg_mr_iova2(domain, nullptr, kEverything.bytes, 0, IBV_ACCESS_ON_DEMAND);
  if (made->registered_ == nullptr)
    return error(ErrorKind::NoPagingOnDemand, "{} does not register all memory on demand: {}", device,
                 std::strerror(errno));
  return made;
}

}  // namespace rondo::verbs
