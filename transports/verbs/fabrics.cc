// SPDX-License-Identifier: Apache-2.0
#include "verbs/fabrics.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <mutex>

#include "base/log.h"
#include "verbs/rails.h"
#include "verbs/rank_location.h"
#include "verbs/slot_memory.h"

namespace rondo::verbs {
namespace {

/// Where libibverbs looks, too.
std::string devices_folder() { return sysfs_folder() + "/class/infiniband/"; }

bool has_device() {
  std::error_code failure;
  return std::filesystem::directory_iterator(devices_folder(), failure) !=
         std::filesystem::directory_iterator();
}

/// Nothing if ports share numbers, as NCCL_IB_HCA may have it: they could not be told apart.
NearPorts near_ports(std::span<const VerbsPort> ports) {
  NearPorts near;
  uint32_t seen = 0;
  const std::vector<int> nearest = nearest_ports(ports);
  for (size_t i = 0; i < ports.size(); ++i) {
    const uint32_t bit = ports[i].rail < NearPorts::kMax ? 1U << ports[i].rail : 0;
    if (bit == 0 || (seen & bit) != 0) return {};
    seen |= bit;
    if (std::ranges::find(nearest, static_cast<int>(i)) == nearest.end()) continue;
    const auto rate = static_cast<uint32_t>(ports[i].rate);
    near.rate_Gbps = near.rails == 0 ? rate : std::min(near.rate_Gbps, rate);
    near.rails |= bit;
  }
  return near;
}

/// `ports`: with distances from elsewhere.
Transport::RankFabrics fabrics_of_rank(std::vector<VerbsPort> ports, size_t pairs, const std::string& gpu) {
  const RankLocation place = location_of_rank(gpu);
  for (VerbsPort& port : ports)
    port.distance =
        port_distance(place, device_folder(devices_folder() + port.device + "/device"), port.numa);
  constexpr double kMax = std::numeric_limits<uint16_t>::max();
  const double rate = std::min(rate_of_connection(ports, pairs), kMax);
  return {static_cast<uint16_t>(rate), near_ports(ports)};
}

Result<Transport::OwnFabrics> fabrics_of_ports(const VerbsSettings& settings, const RingLayout& layout) {
  RONDO_TRY_ASSIGN(const auto devices, Devices::open());
  RONDO_TRY_ASSIGN(const auto ports, devices->ports(settings));
  RONDO_TRY_ASSIGN(const auto device, devices->named(ports.front().device));
  RONDO_TRY_ASSIGN(const auto domain, device->domain(0, settings.max_pinned));
  RONDO_TRY_ASSIGN(const auto pages, SlotPages::make(layout));
  RONDO_TRY_ASSIGN(const auto outgoing, SlotMemory::make(domain, pages, SlotMemory::WrittenBy::Owner));
  RONDO_TRY(SlotMemory::make(domain, pages, SlotMemory::WrittenBy::Peer).status());
  return Transport::OwnFabrics{fabrics_of(ports),
                               [ports, pairs = settings.queue_pairs](const std::string& gpu) {
                                 return fabrics_of_rank(ports, pairs, gpu);
                               }};
}

}  // namespace

Result<Transport::OwnFabrics> find_fabrics(const VerbsSettings& settings, const RingLayout& layout) {
  if (settings.disabled || !has_device()) return Transport::OwnFabrics();
  auto found = fabrics_of_ports(settings, layout);
  if (found.ok() || found.status().code() == Code::InvalidArgument) return found;
  static std::once_flag told;
  std::call_once(told, [&] {
    log().warn("InfiniBand and RoCE are not used: {}; RONDO_IB_PORTS=none silences this [{}]",
               found.status().message(), found.status().id());
  });
  return Transport::OwnFabrics();
}

}  // namespace rondo::verbs
