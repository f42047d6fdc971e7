// SPDX-License-Identifier: Apache-2.0
// What is selected for ranks on hosts of any sizes: their links, with rough costs, and a choice among them.
#pragma once

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "catch.h"
#include "plan/comm_topology.h"
#include "plan/connection_costs.h"
#include "plan/selector.h"

namespace rondo::test {

inline constexpr LinkCost kShared{
    .latency_us = 0.15, .us_per_byte = 4.5e-5, .us_per_message = 0.05, .us_per_folded_byte = 3.5e-5};
inline constexpr LinkCost kNetwork{.latency_us = 15, .us_per_byte = 5e-4, .us_per_message = 4};

/// The host of each rank, if hosts of these sizes have consecutive ranks, or get theirs in turn.
inline std::vector<int> host_by_host(const std::vector<int>& sizes) {
  std::vector<int> hosts;
  for (int host = 0; host < static_cast<int>(sizes.size()); ++host)
    hosts.insert(hosts.end(), static_cast<size_t>(sizes[static_cast<size_t>(host)]), host);
  return hosts;
}
inline std::vector<int> in_turn(const std::vector<int>& sizes) {
  std::vector<int> hosts;
  for (int place = 0; place < *std::ranges::max_element(sizes); ++place)
    for (int host = 0; host < static_cast<int>(sizes.size()); ++host)
      if (place < sizes[static_cast<size_t>(host)]) hosts.push_back(host);
  return hosts;
}

inline LinkModel links_of(const std::vector<int>& hosts) {
  std::vector<PeerInfo> members(hosts.size());
  std::vector<const PeerInfo*> ranks;
  for (size_t rank = 0; rank < hosts.size(); ++rank) {
    members[rank].endpoint.host = static_cast<uint64_t>(hosts[rank]);
    ranks.push_back(&members[rank]);
  }
  NearGroups near = near_groups(ranks);
  return {.nranks = static_cast<int>(ranks.size()),
          .hosts = *std::ranges::max_element(hosts) + 1,
          .cost = kNetwork,
          .levels = near.levels,
          .order = std::move(near.order),
          .inner_costs = std::vector(static_cast<size_t>(near.levels.count()), kShared),
          .host_sizes = std::move(near.host_sizes),
          .within_hosts = kShared};
}

/// A call of any form.
struct CallForm {
  CollectiveKind kind = CollectiveKind::AllReduce;
  size_t bytes = 0;
  bool varying = false, commutative = true, reproducible = false;

  bool exists() const {
    return (!varying || traits(kind).has_blocks()) && (commutative || reduces(kind)) &&
           (kind != CollectiveKind::Barrier || bytes <= 8);
  }
  Call call() const {
    Call made;
    made.kind = kind;
    made.type = CallType::of(ElementType::Float32);
    made.op = CallOp::of(Reduction::Sum);
    made.op.commutative = commutative;
    made.count = kind == CollectiveKind::Barrier ? 0 : bytes / made.type.bytes;
    return made;
  }
  Shape shape(const LinkModel& links) const {
    Shape made = links.shape(call());
    made.varying = varying;
    made.root = has_root(kind) ? links.nranks - 1 : 0;
    return made;
  }
};

/// Of each of these kinds and lengths.
template <typename Kinds>
std::vector<CallForm> forms_of(const Kinds& kinds, const std::vector<size_t>& lengths) {
  std::vector<CallForm> forms;
  for (const CollectiveKind kind : kinds)
    for (const size_t bytes : lengths)
      for (int bits = 0; bits < 8; ++bits) {
        const CallForm form{kind, bytes, (bits & 1) != 0, (bits & 2) == 0, (bits & 4) != 0};
        if (form.exists()) forms.push_back(form);
      }
  return forms;
}

inline const Algorithm& choice(const LinkModel& links, const CallForm& form) {
  constexpr size_t kSlotBytes = size_t{64} << 10;
  const Executor connections{.name = "connections",
                             .predict = [&](const Algorithm& algorithm, const Call& of, const Shape& in) {
                               return predict_over_connections(algorithm, of, in, links, kSlotBytes);
                             }};
  const Selector selector = Selector::parse("", form.reproducible).take();
  auto chosen = selector.select(form.call(), form.shape(links), {&connections, 1});
  INFO(chosen.status().message());
  REQUIRE(chosen.ok());
  return *chosen.value().algorithm;
}

inline std::string text_of(const CallForm& form) {
  return fmt::format("{} of {} bytes{}{}{}", collective_name(form.kind), form.bytes,
                     form.varying ? ", varying" : "", form.commutative ? "" : ", not commutative",
                     form.reproducible ? ", reproducible" : "");
}

}  // namespace rondo::test
