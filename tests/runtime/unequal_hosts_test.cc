// SPDX-License-Identifier: Apache-2.0
// What is selected on hosts with different numbers of ranks, which are dealt out to the hosts in turn.
#include "hosts_of_ranks.h"
#include "schedule/verifier.h"

using namespace rondo;
using namespace rondo::test;

namespace {

constexpr size_t kLong = size_t{64} << 20;

TEST_CASE("hosts of 8 and 4 ranks use what groups can do, and hosts of 8 and 1 what needs none") {
  for (const size_t bytes : {size_t{8}, size_t{1} << 20, kLong}) {
    const CallForm form{.kind = CollectiveKind::AllReduce, .bytes = bytes};
    for (const std::vector<int>& sizes : {std::vector{8, 4}, {8, 8, 4}, {6, 4}})
      CHECK(choice(links_of(in_turn(sizes)), form).for_groups);
    for (const std::vector<int>& sizes : {std::vector{8, 1}, {8, 7}, {1, 8, 8}})
      CHECK_FALSE(choice(links_of(in_turn(sizes)), form).for_groups);
  }
}

TEST_CASE("over an interface that the ranks of a host share, long calls do not go from all to all") {
  LinkModel links = links_of(in_turn({4, 3}));
  const auto goes_to_all = [&](CollectiveKind kind, size_t bytes) {
    return choice(links, {.kind = kind, .bytes = bytes}).connects_all;
  };
  for (const bool shared : {false, true}) {
    if (shared) links.sharing = ranks_that_share({4, 3});
    for (const CollectiveKind kind :
         {CollectiveKind::AllReduce, CollectiveKind::AllGather, CollectiveKind::ReduceScatter}) {
      CHECK(goes_to_all(kind, kLong) == !shared);
      CHECK(goes_to_all(kind, 8));
    }
  }
}

TEST_CASE("on unequal hosts no call is refused, and what is selected verifies") {
  for (const std::vector<int>& sizes :
       {std::vector{8, 1}, {8, 4}, {8, 8, 4}, {3, 2}, {1, 6, 9}, {6, 2, 2, 1}}) {
    const LinkModel links = links_of(in_turn(sizes));
    for (const CallForm& form : forms_of(kAllCollectives, {8, size_t{1} << 20, kLong})) {
      INFO(links.nranks << " ranks, " << text_of(form));
      const Algorithm& row = choice(links, form);
      const Shape shape = form.shape(links);
      std::vector<Schedule> ranks;
      for (int rank = 0; rank < links.nranks; ++rank) ranks.push_back(row.build(shape, rank));
      const Status status = verify(shape, ranks, {.association = row.association});
      INFO(row.name << ": " << status.message());
      REQUIRE(status.ok());
    }
  }
}

}  // namespace
