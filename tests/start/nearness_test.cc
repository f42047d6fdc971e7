// Which ranks count as near one another.
#include "comm/nearness.h"

#include "catch.h"

using namespace rondo;

namespace {

Member member_on(uint64_t host, int32_t first_cpu) {
  Member member;
  member.endpoint.host = host;
  member.first_cpu = first_cpu;
  return member;
}

std::vector<int> order_of(const std::vector<Member>& members) {
  std::vector<const Member*> ranks;
  for (const Member& member : members) ranks.push_back(&member);
  return near_together(ranks);
}

TEST_CASE("ranks of a host are together, in the order of the hosts' first ranks") {
  CHECK(order_of({member_on(9, 0), member_on(4, 0), member_on(9, 0), member_on(4, 0), member_on(7, 0)}) ==
        std::vector<int>{0, 2, 1, 3, 4});
}

TEST_CASE("ranks of a host whose first CPU is the same are together") {
  CHECK(order_of({member_on(1, 0), member_on(1, 1), member_on(1, 0), member_on(1, 1)}) ==
        std::vector<int>{0, 2, 1, 3});
  CHECK(order_of({member_on(2, 1), member_on(1, 0), member_on(2, 0), member_on(1, 0)}) ==
        std::vector<int>{2, 0, 1, 3});
}

TEST_CASE("ranks that nothing tells apart stay as they are") {
  CHECK(order_of({}).empty());
  CHECK(order_of({member_on(1, 0), member_on(1, 0), member_on(1, 0)}) == std::vector<int>{0, 1, 2});
}

}  // namespace
