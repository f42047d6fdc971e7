// SPDX-License-Identifier: Apache-2.0
// What rondo-doctor says of hosts and of pairs of them.
#include <cstring>

#include "catch.h"
#include "report.h"

using namespace rondo::doctor;

namespace {

using Texts = std::vector<std::string>;

const std::vector<DoctorHost> kHosts = {{"a", {0, 1, 2, 7}}, {"b", {3}}, {"c", {4, 6}}, {"d", {5}}};

/// All pairs of four hosts, with equal links and clocks.
std::vector<HostPair> equal_pairs() {
  std::vector<HostPair> pairs;
  for (int first = 0; first < 4; ++first)
    for (int second = first + 1; second < 4; ++second) pairs.push_back({first, second, 30, 2, 0});
  return pairs;
}

Texts said(const std::vector<HostPair>& pairs) {
  Texts texts;
  for (const DoctorFinding& finding : pair_findings(kHosts, pairs)) {
    CHECK(!finding.advice.empty());
    texts.push_back(finding.text);
  }
  return texts;
}

}  // namespace

TEST_CASE("the roster names hosts with their ranks") {
  CHECK(roster_text(kHosts) == "8 ranks on 4 hosts: a (0-2, 7), b (3), c (4, 6), d (5)\n");
  CHECK(roster_text(std::vector<DoctorHost>{{"a", {0}}}) == "1 rank on 1 host: a (0)\n");
}

TEST_CASE("what hosts have in common is said once") {
  const DoctorFinding slow{"slow", "hurry"}, other{"slow", "wait"};
  const std::vector<DoctorFindings> findings{{slow}, {}, {other, slow}, {}};
  CHECK(findings_text(kHosts, findings) == "a, c: slow\n-> hurry\nc: slow\n-> wait\n");
  CHECK(findings_text(kHosts, std::vector<DoctorFindings>(4)).empty());
}

TEST_CASE("equal pairs of hosts have no fault, nor has a single host") {
  CHECK(said(equal_pairs()).empty());
  CHECK(said({}).empty());
  CHECK(pairs_text({}, "tcp").empty());
  CHECK(pairs_text(equal_pairs(), "tcp") ==
        "between hosts by tcp: 6 pairs; median 30.0 us one way, 2.00 GB/s\n");
}

TEST_CASE("a pair that is much slower than the others, and a wrong clock, are faults") {
  std::vector<HostPair> pairs = equal_pairs();
  pairs[4].bandwidth = 0.9;
  CHECK(said(pairs) ==
        Texts{"b and d: 0.90 GB/s, where pairs of hosts usually have 2.00: a ring that crosses this link "
              "is no faster"});
  pairs = equal_pairs();
  pairs[5].latency_us = 95;
  CHECK(said(pairs) ==
        Texts{"c and d: 95.0 us one way, where pairs of hosts usually have 30.0: short calls take at "
              "least that much longer"});
  pairs = equal_pairs();
  pairs[1].ahead_s = -2.5;
  pairs[3].ahead_s = -2.5;  // of c, compared with b: the same fault
  CHECK(said(pairs) ==
        Texts{"the clock of c is 2.5 s behind that of a: their logs and traces do not fit together"});
}

TEST_CASE("pairs that exchange no messages are named with the cause, and count among no others") {
  std::vector<HostPair> pairs = equal_pairs();
  pairs[0].failure = FailedMessage::Short;
  pairs[0].latency_us = 0;
  std::strcpy(pairs[0].cause.data(), "rank 0 cannot reach rank 3");
  pairs[4].failure = FailedMessage::Long;
  pairs[4].bandwidth = 0;
  CHECK(said(pairs).empty());
  CHECK(pairs_text(pairs, "tcp") == "between hosts by tcp: 6 pairs; median 30.0 us one way, 2.00 GB/s\n");
  const DoctorFindings failed = failed_pairs(kHosts, pairs, std::chrono::milliseconds(2500));
  REQUIRE(failed.size() == 2);
  CHECK(failed[0].text == "a and b exchange no messages: rank 0 cannot reach rank 3");
  CHECK(failed[1].text ==
        "b and d: 8 bytes arrive, and 4 MiB do not within 2.5 s: long packets may be lost on the way");
  CHECK(!failed[0].advice.empty());
  CHECK(failed[1].advice.find("tracepath d") != std::string::npos);
  CHECK(failed_pairs(kHosts, equal_pairs(), std::chrono::milliseconds(2500)).empty());
  pairs = {pairs[0]};
  CHECK(pairs_text(pairs, "tcp") == "between hosts by tcp: 1 pair, all of which failed\n");
}
