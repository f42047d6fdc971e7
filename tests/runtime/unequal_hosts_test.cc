// SPDX-License-Identifier: Apache-2.0
// What is selected on hosts of different numbers of ranks, whose ranks are dealt out to the hosts in turn.
#include <utility>
#include <vector>

#include "catch.h"
#include "plan/comm_topology.h"
#include "plan/connection_costs.h"
#include "plan/selector.h"
#include "schedule/verifier.h"

using namespace rondo;

namespace {

constexpr LinkCost kShared{
    .latency_us = 0.15, .us_per_byte = 4.5e-5, .us_per_message = 0.05, .us_per_folded_byte = 3.5e-5};
constexpr LinkCost kNetwork{.latency_us = 15, .us_per_byte = 5e-4, .us_per_message = 4};
constexpr size_t kLong = size_t{64} << 20;

LinkModel links_of(std::vector<int> sizes) {
  std::vector<PeerInfo> members;
  for (bool more = true; std::exchange(more, false);)
    for (size_t host = 0; host < sizes.size(); ++host) {
      if (sizes[host]-- <= 0) continue;
      members.emplace_back().endpoint.host = host + 1;
      more = true;
    }
  std::vector<const PeerInfo*> ranks;
  for (const PeerInfo& member : members) ranks.push_back(&member);
  NearGroups near = near_groups(ranks);
  return {.nranks = static_cast<int>(ranks.size()),
          .hosts = static_cast<int>(sizes.size()),
          .cost = kNetwork,
          .levels = near.levels,
          .order = std::move(near.order),
          .inner_costs = std::vector(static_cast<size_t>(near.levels.count()), kShared)};
}

Call call_of(CollectiveKind kind, size_t bytes) {
  Call call;
  call.kind = kind;
  call.type = CallType::of(ElementType::Float32);
  call.op = CallOp::of(Reduction::Sum);
  call.count = bytes / call.type.bytes;
  return call;
}

const Algorithm& choice(const LinkModel& links, const Call& call, const Shape& shape,
                        bool reproducible = false) {
  const Executor connections{.name = "connections",
                             .predict = [&](const Algorithm& algorithm, const Call& of, const Shape& in) {
                               return predict_over_connections(algorithm, of, in, links, size_t{64} << 10);
                             }};
  auto chosen = Selector::parse("", reproducible).take().select(call, shape, {&connections, 1});
  INFO(chosen.status().message());
  REQUIRE(chosen.ok());
  return *chosen.value().algorithm;
}

const Algorithm& all_reduce_on(const std::vector<int>& sizes, size_t bytes) {
  const LinkModel links = links_of(sizes);
  const Call call = call_of(CollectiveKind::AllReduce, bytes);
  return choice(links, call, links.shape(call));
}

struct Form {
  bool varying, commutative, reproducible;
};

/// Selects for a call of that form and verifies what is selected. Returns whether the kind has the form.
bool verify_choice(const LinkModel& links, CollectiveKind kind, size_t bytes, const Form& form) {
  if (form.varying && !traits(kind).has_blocks()) return false;
  if (!form.commutative && !reduces(kind)) return false;
  const Call call = call_of(kind, bytes);
  Shape shape = links.shape(call);
  shape.varying = form.varying;
  shape.commutative = form.commutative;
  shape.root = has_root(kind) ? links.nranks - 1 : 0;
  INFO(collective_name(kind) << " of " << bytes << " bytes, " << form.varying << form.commutative
                             << form.reproducible);
  const Algorithm& row = choice(links, call, shape, form.reproducible);
  std::vector<Schedule> ranks;
  for (int rank = 0; rank < links.nranks; ++rank) ranks.push_back(row.build(shape, rank));
  const Status status = verify(shape, ranks, {.association = row.association});
  INFO(row.name << ": " << status.message());
  REQUIRE(status.ok());
  return true;
}

TEST_CASE("hosts of 8 and 4 ranks use what groups can do, and hosts of 8 and 1 what needs none") {
  for (const size_t bytes : {size_t{8}, size_t{1} << 20, kLong}) {
    for (const std::vector<int>& sizes : {std::vector{8, 4}, {8, 8, 4}, {6, 4}})
      CHECK(all_reduce_on(sizes, bytes).for_groups);
    for (const std::vector<int>& sizes : {std::vector{8, 1}, {8, 7}, {1, 8, 8}})
      CHECK_FALSE(all_reduce_on(sizes, bytes).for_groups);
  }
}

TEST_CASE("on unequal hosts no call is refused, and what is selected verifies") {
  int calls = 0;
  for (const std::vector<int>& sizes :
       {std::vector{8, 1}, {8, 4}, {8, 8, 4}, {3, 2}, {1, 6, 9}, {6, 2, 2, 1}})
    for (const CollectiveKind kind : kAllCollectives)
      for (const size_t bytes : {size_t{8}, size_t{1} << 20, kLong})
        for (int form = 0; form < 8; ++form)
          calls += verify_choice(links_of(sizes), kind, kind == CollectiveKind::Barrier ? 0 : bytes,
                                 {form % 2 == 1, form / 2 % 2 == 0, form >= 4})
                       ? 1
                       : 0;
  CHECK(calls > 500);
}

}  // namespace
