// SPDX-License-Identifier: Apache-2.0
#include "verbs/fabrics.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <mutex>

#include "base/log.h"
#include "verbs/rails.h"
#include "verbs/slot_memory.h"

namespace rondo::verbs {
namespace {

/// Where libibverbs looks, too.
bool has_device() {
  const std::string folder = sysfs_folder() + "/class/infiniband";
  std::error_code failure;
  return std::filesystem::directory_iterator(folder, failure) != std::filesystem::directory_iterator();
}

Result<Transport::OwnFabrics> fabrics_of_ports(const VerbsSettings& settings, const RingLayout& layout) {
  RONDO_TRY_ASSIGN(const auto devices, Devices::open());
  RONDO_TRY_ASSIGN(const auto ports, devices->ports(settings, location_of_rank("")));
  RONDO_TRY_ASSIGN(const auto device, devices->named(ports.front().device));
  RONDO_TRY_ASSIGN(const auto domain, device->domain(0, settings.max_pinned));
  RONDO_TRY_ASSIGN(const auto pages, SlotPages::make(layout));
  RONDO_TRY_ASSIGN(const auto outgoing, SlotMemory::make(domain, pages, SlotMemory::WrittenBy::Owner));
  RONDO_TRY(SlotMemory::make(domain, pages, SlotMemory::WrittenBy::Peer).status());
  constexpr double kMax = std::numeric_limits<uint16_t>::max();
  const double rate = std::min(rate_of_connection(ports, settings.queue_pairs), kMax);
  return Transport::OwnFabrics{fabrics_of(ports), static_cast<uint16_t>(rate)};
}

}  // namespace

Result<Transport::OwnFabrics> find_fabrics(const VerbsSettings& settings, const RingLayout& layout) {
  if (settings.disabled || !has_device()) return Transport::OwnFabrics();
  auto found = fabrics_of_ports(settings, layout);
  if (found.ok() || found.status().code() == Code::InvalidArgument) return found;
  static std::once_flag told;
  std::call_once(told, [&] {
    log().warn("InfiniBand and RoCE are not used: {}; RONDO_IB_PORTS=none silences this",
               found.status().message());
  });
  return Transport::OwnFabrics();
}

}  // namespace rondo::verbs
