// SPDX-License-Identifier: Apache-2.0
// The table of transports, as meson.build lists it.
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "base/error_kinds.h"
#include "base/words.h"
#include "transports/transport.h"

#include "transport_rows.h"

namespace rondo {
namespace {

/// The place of a transport among those that have fabrics, in the order of the table.
size_t fabric_place(const Transport& transport) {
  const std::span<const Transport> before(transports().data(), &transport);
  return static_cast<size_t>(std::count_if(before.begin(), before.end(),
                                           [](const Transport& other) { return other.fabrics != nullptr; }));
}

bool share_fabric(const Transport& transport, const Endpoint& a, const Endpoint& b) {
  if (transport.fabrics == nullptr) return true;
  constexpr uint64_t kOwn = (uint64_t{1} << Fabrics::kMaxBits) - 1;
  const size_t first_bit = fabric_place(transport) * Fabrics::kMaxBits;
  return ((a.fabrics.bits & b.fabrics.bits) >> first_bit & kOwn) != 0;
}

}  // namespace

// The list is `local_transport(), shm_transport(), ...`: here it declares the functions, below it calls them.
Transport RONDO_TRANSPORT_ROWS;

std::span<const Transport> transports() {
  static const Transport rows[] = {RONDO_TRANSPORT_ROWS};
  return rows;
}

const Transport* automatic_transport(const Endpoint& a, const Endpoint& b, std::span<const Transport> among) {
  const auto found = std::find_if(among.begin(), among.end(), [&](const Transport& transport) {
    return transport.automatic && transport.reaches(a, b) && share_fabric(transport, a, b);
  });
  return found != among.end() ? &*found : nullptr;
}

Result<UsableFabrics> UsableFabrics::find() {
  UsableFabrics usable;
  for (const Transport& transport : transports()) {
    if (transport.fabrics == nullptr) continue;
    RONDO_TRY_ASSIGN(usable.own_.at(fabric_place(transport)), transport.fabrics());
  }
  return usable;
}

Fabrics UsableFabrics::of_rank(const std::string& gpu) const {
  Fabrics fabrics;
  for (size_t place = 0; place < own_.size(); ++place) {
    fabrics.bits |= own_[place].bits << (place * Fabrics::kMaxBits);
    if (own_[place].of_rank == nullptr) continue;
    const Transport::RankFabrics of_rank = own_[place].of_rank(gpu);
    fabrics.rates_Gbps[place] = of_rank.rate_Gbps;
    fabrics.ports[place] = of_rank.ports;
  }
  return fabrics;
}

uint16_t fabric_rate_Gbps(const Transport& transport, const Fabrics& fabrics) {
  return transport.fabrics != nullptr ? fabrics.rates_Gbps.at(fabric_place(transport)) : uint16_t{0};
}

NearPorts fabric_ports(const Transport& transport, const Fabrics& fabrics) {
  return transport.fabrics != nullptr ? fabrics.ports.at(fabric_place(transport)) : NearPorts();
}

Result<const Transport*> transport_by_name(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Transport& transport : transports()) {
    if (name == transport.name) return &transport;
    names.emplace_back(transport.name);
  }
  return error(ErrorKind::NameUnknown, "there is no transport '{}'; there are: {}{}", name,
               fmt::join(names, ", "), did_you_mean(name, names));
}

}  // namespace rondo
