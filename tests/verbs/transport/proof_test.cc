// SPDX-License-Identifier: Apache-2.0
// A path is believed once it has carried messages of its full length both ways: paths that look right and are
// not, and what is used in their place.
#include <chrono>
#include <cstdlib>

#include "../../transports/ends.h"
#include "in_process.h"
#include "process.h"

namespace rondo::verbs_test {
namespace {

using test::Ends;
using test::require;

/// With an address in front of the right one that carries nothing.
const Variables kDecoy{{"_GIDS", "v2 10.1.%p.%h lo;v2 10.2.%p.%h lo"}, {"_AT", "0 drop 10.1.1.1 10.1.1.1"}};

/// What both ends say that cannot connect; empty if they can, and converse.
std::string connects(size_t slot_bytes = 9000, uint64_t messages = 20) {
  const Transport& verbs = *transport_by_name("verbs").value();
  Ends ends;
  ends.dialler = ends.connect(verbs, test::small_params(slot_bytes), true).take();
  ends.acceptor = ends.connect(verbs, test::small_params(slot_bytes), false).take();
  const auto is_settled = [](Connection& end) { return end.acquire() != nullptr || !end.status().ok(); };
  require(test::eventually([&] { return is_settled(*ends.dialler) && is_settled(*ends.acceptor); }),
          "neither connected nor failed");
  const std::string failures[] = {ends.dialler->status().message(), ends.acceptor->status().message()};
  require(failures[0].empty() == failures[1].empty(), failures[0] + " / " + failures[1]);
  if (!failures[0].empty()) return failures[0] + " / " + failures[1];
  std::vector<Ends> both;
  both.push_back(std::move(ends));
  return test::converse_together(both, {.messages = messages});
}

double seconds_to_connect() {
  const auto begin = std::chrono::steady_clock::now();
  const std::string failure = connects();
  require(failure.empty(), failure);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

size_t count(const std::string& text, const std::string& words) {
  size_t found = 0;
  for (size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) ++found;
  return found;
}

TEST_CASE("addresses that carry nothing are given up for the next, which later connections begin with") {
  for (const char* seed : {"0", "1", "2"}) {
    Variables variables = kDecoy;
    variables["_SEED"] = seed;
    const std::string log = log_of(variables, [] {
      require(seconds_to_connect() > 0.9, "the decoy was not tried");
      require(seconds_to_connect() < 0.9, "the decoy was tried again");
    });
    CHECK(count(log, "because better paths fail") == 1);
    CHECK(count(log, "rank 1 is reached by rondo_0:1 10.2.1.1 (GID 1, RoCE v2, lo) to rondo_0:1 10.2.1.1") ==
          1);
    CHECK(count(log, "10.1.1.1 (GID 0, RoCE v2, lo), MTU 4096: no answer in 1000 ms") == 1);
  }
}

TEST_CASE("at info each path is told once, with what it was chosen for") {
  const std::string log = log_of({{"_GIDS", "v2 fe80::%h lo;v2 10.2.%p.%h lo"}}, [] {
    ::setenv("RONDO_LOG", "info", 1);
    seconds_to_connect();
    seconds_to_connect();
  });
  CHECK(
      count(log,
            "rank 1 is reached by rondo_0:1 10.2.1.1 (GID 1, RoCE v2, lo) to rondo_0:1 10.2.1.1 (GID 1, RoCE "
            "v2, lo), MTU 4096: the first of all paths, with addresses of ") == 1);
  CHECK(count(log, "is reached by") == 1);
}

TEST_CASE("a second port that carries nothing is left out, and so by later connections") {
  const std::string log = log_of({{"_DEVICES", "roce:2"},
                                  {"_GIDS", "v2 10.9.%p.%h lo"},
                                  {"_AT", "0 drop 10.9.2.1 10.9.2.1"},
                                  {"_SEED", "1"}},
                                 [] {
                                   require(seconds_to_connect() > 0.9, "the second port was not tried");
                                   require(seconds_to_connect() < 0.9, "the second port was tried again");
                                 });
  INFO(log);
  CHECK(
      count(log,
            "rank 1 is reached by rondo_0:1 10.9.1.1 (GID 0, RoCE v2, lo) to rondo_0:1 10.9.1.1 (GID 0, RoCE "
            "v2, lo), MTU 4096, because other paths fail: rondo_0:2 ") == 1);
  CHECK(count(log, "MTU 4096: no answer in 1000 ms") == 1);
}

TEST_CASE("an address that the kernel cannot resolve is given up for the next") {
  Variables variables = kDecoy;
  variables.erase("_AT");
  for (const char* which : {"rtr:1", "rtr:2"}) {  // the accepting end's, the dialling end's
    variables["_FAIL"] = which;
    const std::string log = log_of(variables, [] { seconds_to_connect(); });
    CHECK(count(log, "moving a queue pair to RTR on rondo_0: Connection timed out") == 1);
  }
}

TEST_CASE("a path that carries short messages only is used with a shorter MTU") {
  const std::string log = log_of({{"_AT", "0 path_mtu 1024"}}, [] {
    require(seconds_to_connect() > 0.9, "no long message was tried");
    require(seconds_to_connect() < 0.9, "long messages were tried again");
  });
  CHECK(count(log, "MTU 4096: messages of 4096 bytes do not pass") == 1);
  CHECK(count(log, "MTU 1024, because better paths fail") == 1);
}

TEST_CASE("slots shorter than the path's MTU are proved in full") {
  CHECK(in_process({{"_AT", "0 path_mtu 256"}}, [] {
          const std::string failure = connects(64);  // three slots are shorter than 4096 bytes
          require(failure.empty(), failure);
        }) == "");
}

TEST_CASE("a lost packet is no reason to give a path up") {
  const std::string log = log_of({{"_AT", "0 loss 3"}}, [] {
    const std::string failure = connects(9000, 2);
    require(failure.empty(), failure);
  });
  CHECK(count(log, "because better paths fail") == 0);
}

TEST_CASE("without a path that carries messages both ends say what was tried") {
  Variables variables = kDecoy;
  variables["_AT"] = "0 drop 10.1.1.1 10.1.1.1;0 drop 10.2.1.1 10.2.1.1";
  CHECK(in_process(variables, [] {
          const std::string failures = connects();
          require(count(failures, "no path over InfiniBand or RoCE to rank") == 2, failures);
          require(count(failures, "10.1.1.1 (GID 0, RoCE v2, lo), MTU 4096: no answer in 1000 ms") == 2,
                  failures);
          require(count(failures, "10.2.1.1 (GID 1, RoCE v2, lo), MTU 4096: no answer in 1000 ms") == 2,
                  failures);
        }) == "");
}

}  // namespace
}  // namespace rondo::verbs_test
