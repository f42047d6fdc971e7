// SPDX-License-Identifier: Apache-2.0
// Two ends of one process offer memory to one another, and judge it.
#include "base/handle_exchange.h"

#include <sys/socket.h>

#include <array>
#include <cstring>

#include "base/shared_segment.h"
#include "catch.h"

namespace rondo {
namespace {

struct Terms {
  uint64_t bytes = 0;
  uint64_t slots = 0;
};

struct Pair {
  Pair() {
    std::array<int, 2> sockets{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets.data()) == 0);
    near.emplace(Fd(sockets[0]), "rank 1");
    far.emplace(Fd(sockets[1]), "rank 0");
  }
  std::optional<HandleExchange> near;
  std::optional<HandleExchange> far;
};

TEST_CASE("an offer arrives with its terms and its memory, and not before it was made") {
  Pair ends;
  Terms terms;
  REQUIRE_FALSE(ends.far->hear_offer(terms).value().has_value());
  auto made = SharedSegment::make(4096).take();
  const int memfd = made.memfd.get();
  REQUIRE(ends.near->offer(Terms{4096, 7}, {&memfd, 1}).ok());
  const auto attached = ends.far->hear_offer(terms).take();
  REQUIRE(attached->size() == 1);
  REQUIRE((terms.bytes == 4096 && terms.slots == 7));
  const auto mapped = SharedSegment::map(attached->front(), terms.bytes);
  REQUIRE(mapped.ok());
  made.segment.data()[4095] = std::byte{77};
  REQUIRE(mapped.value().data()[4095] == std::byte{77});
}

TEST_CASE("an end that has no memory can still offer none, and object") {
  Pair ends;
  Terms terms;
  REQUIRE(ends.near->offer(Terms{}, {}).ok());
  REQUIRE(ends.far->hear_offer(terms).value()->empty());
  REQUIRE_FALSE(ends.far->hear_verdict().value().has_value());
  REQUIRE(ends.near->judge("no memory").ok());
  REQUIRE(ends.far->hear_verdict().value() == "no memory");
  REQUIRE(ends.far->judge("").ok());
  REQUIRE(ends.near->hear_verdict().value() == "");
}

TEST_CASE("what both ends sent early is heard in order, also when they start over") {
  Pair ends;
  Terms terms;
  for (uint64_t attempt = 1; attempt <= 2; ++attempt) {
    REQUIRE(ends.near->offer(Terms{attempt, 0}, {}).ok());
    REQUIRE(ends.near->judge(std::string(attempt, 'x')).ok());
  }
  for (uint64_t attempt = 1; attempt <= 2; ++attempt) {
    REQUIRE(ends.far->hear_offer(terms).value().has_value());
    REQUIRE(terms.bytes == attempt);
    REQUIRE(ends.far->hear_verdict().value() == std::string(attempt, 'x'));
  }
}

TEST_CASE("a long objection is cut short") {
  Pair ends;
  REQUIRE(ends.near->judge(std::string(1000, 'x')).ok());
  REQUIRE(ends.far->hear_verdict().value() == std::string(239, 'x'));
}

TEST_CASE("a peer that leaves, or sends something else, is an error that names it") {
  Pair ends;
  Terms terms;
  const int what = GENERATE(0, 1, 2);
  if (what == 0)
    ends.near.reset();
  else
    REQUIRE((what == 1 ? ends.near->judge("") : ends.near->offer(std::array<uint64_t, 3>{}, {})).ok());
  const auto heard = ends.far->hear_offer(terms);
  REQUIRE(heard.status().code() == Code::RemoteError);
  const std::string did = what == 0 ? "left" : "sent something else";
  REQUIRE(heard.status().message() == "rank 0 " + did + " while memory was shared");
  REQUIRE(terms.bytes == 0);
}

}  // namespace
}  // namespace rondo
