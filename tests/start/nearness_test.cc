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

Member by_cache(int32_t cache) {
  Member member;
  member.cache = cache;
  return member;
}

std::vector<const Member*> pointers(const std::vector<Member>& members) {
  std::vector<const Member*> ranks;
  for (const Member& member : members) ranks.push_back(&member);
  return ranks;
}

std::vector<int> order_of(const std::vector<Member>& members) { return near_together(pointers(members)); }

/// near_at_a_time() of ranks on such hosts, and of ranks of one host with such caches.
int on_hosts(const std::vector<uint64_t>& hosts) {
  std::vector<Member> members;
  for (const uint64_t host : hosts) members.push_back(member_on(host, 0));
  return near_at_a_time(pointers(members));
}
int with_caches(const std::vector<int32_t>& caches) {
  std::vector<Member> members;
  for (const int32_t cache : caches) members.push_back(by_cache(cache));
  return near_at_a_time(pointers(members));
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

TEST_CASE("hosts with as many ranks each, one after another, are groups") {
  CHECK(on_hosts({7, 7, 3, 3}) == 2);
  CHECK(on_hosts({5, 5, 5, 2, 2, 2, 9, 9, 9}) == 3);
}

TEST_CASE("ranks of one host that share caches are groups, where all are known") {
  CHECK(with_caches({0, 0, 4, 4}) == 2);
  CHECK(with_caches({0, 0, 0, 0}) == 1);
  CHECK(with_caches({0, 0, -1, -1}) == 1);
  CHECK(with_caches({-1, -1, -1, -1}) == 1);
}

TEST_CASE("unequal, torn and single places are no groups") {
  CHECK(on_hosts({1}) == 1);
  CHECK(on_hosts({1, 1, 1}) == 1);
  CHECK(on_hosts({1, 2, 3}) == 1);
  CHECK(on_hosts({1, 1, 2}) == 1);
  CHECK(on_hosts({1, 2, 2}) == 1);
  CHECK(on_hosts({1, 1, 1, 2, 2}) == 1);
  CHECK(on_hosts({1, 2, 1, 2}) == 1);
  CHECK(on_hosts({1, 1, 2, 2, 1, 1}) == 1);
}

TEST_CASE("between hosts caches do not matter") {
  std::vector<Member> members(4);
  for (size_t i = 0; i < members.size(); ++i) {
    members[i].endpoint.host = i / 2;
    members[i].cache = static_cast<int32_t>(i);
  }
  CHECK(near_at_a_time(pointers(members)) == 2);
}

}  // namespace
