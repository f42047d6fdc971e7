// SPDX-License-Identifier: Apache-2.0
// flight_text: how much of a process is written where that is limited, as for rondo-ps.
#include "health/flight_text.h"

#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "base/clock.h"
#include "catch.h"

namespace rondo::test {
namespace {

using Json = nlohmann::json;

RecordedComm comm_with(uint64_t id, uint32_t calls, bool in_call) {
  auto recorder = std::make_shared<FlightRecorder>("c" + std::to_string(id));
  for (uint32_t call = 1; call <= calls; ++call) {
    Signature signature{};
    signature.kind = CollectiveKind::AllReduce;
    signature.sequence = call;
    signature.count = 10;
    signature.type_bytes = 4;
    recorder->begin(signature, "ring");
    recorder->wait_for(3);
    if (call < calls || !in_call) recorder->end();
  }
  return {.session = 1,
          .communicator = id,
          .here = std::make_shared<const std::vector<HereMember>>(std::vector<HereMember>{{0, 7}, {3, 9}}),
          .session_ranks =
              std::make_shared<const std::vector<RankRun>>(std::vector<RankRun>{{5, -2, 3}, {8, 1, 1}}),
          .recorder = recorder,
          .health = std::make_shared<CommState>()};
}

std::set<std::string> names_in(const Json& text) {
  std::set<std::string> names;
  for (const Json& comm : text.at("communicators")) names.insert(comm.at("name"));
  return names;
}

}  // namespace

TEST_CASE("of 1,000 communicators those in calls are written, and little of each") {
  RecordedComms comms;
  for (uint64_t id = 0; id < 1000; ++id) comms.live.push_back(comm_with(id, 300, id % 100 == 99));
  comms.ended.push_back(comm_with(5000, 300, true));
  const FlightExtent extent{.comms = 64, .calls = 8};
  const std::string text = flight_text(comms, "request", extent);
  CHECK(text.size() < 400'000);
  const Json file = Json::parse(text);
  CHECK(file.at("omitted") == 937);
  CHECK(file.at("communicators").size() == 64);
  const std::set<std::string> names = names_in(file);
  for (const char* in_call : {"c99", "c199", "c999"}) CHECK(names.contains(in_call));
  CHECK(!names.contains("c5000"));
  for (const Json& comm : file.at("communicators")) {
    REQUIRE(comm.at("calls").size() == 8);
    CHECK(comm.at("calls").back().at("number") == 300);
    CHECK(comm.at("total_calls") == 300);
    CHECK(comm.at("total_bytes") == 12'000);
    CHECK(comm.at("waits_for") == (comm.at("activity") == "in a call" ? Json(3) : Json()));
    CHECK(comm.at("here") == Json::parse("[[0,7],[3,9]]"));
    CHECK(comm.at("session_ranks") == Json::parse("[[5,-2,3],[8,1,1]]"));
  }
}

TEST_CASE("of a communicator of 100 threads the rank that is late is written") {
  RecordedComms comms;
  comms.live.push_back(comm_with(2, 9, true));
  for (int rank = 0; rank < 100; ++rank) {
    comms.live.push_back(comm_with(1, rank == 37 ? 299 : 300, rank != 37));
    comms.live.back().rank = rank;
  }
  const Json file = Json::parse(flight_text(comms, "request", {.comms = 64, .calls = 8}));
  int late = 0;
  for (const Json& comm : file.at("communicators"))
    late += comm.at("name") == "c1" && comm.at("rank") == 37 ? 1 : 0;
  CHECK(late == 1);
}

TEST_CASE("without limits everything is written, and what is unknown is left empty") {
  RecordedComms comms;
  for (uint64_t id = 0; id < 100; ++id) comms.live.push_back(comm_with(id, 300, false));
  comms.live.front().here = nullptr;
  comms.live.front().session_ranks = nullptr;
  const Json file = Json::parse(flight_text(comms, "request"));
  CHECK(file.at("omitted") == 0);
  CHECK(file.at("communicators").size() == 100);
  CHECK(file.at("communicators").front().at("calls").size() == FlightRecorder::kRemembered);
  CHECK(file.at("communicators").front().at("here") == Json::array());
  CHECK(file.at("communicators").front().at("session_ranks") == Json());
  CHECK(file.at("cpu_ns") > 0);
}

// test_runtime_flight_text '[.measure]' says how long the service thread writes for rondo-ps.
TEST_CASE("how long a text for rondo-ps takes", "[.measure]") {
  RecordedComms comms;
  for (uint64_t id = 0; id < 1000; ++id) comms.live.push_back(comm_with(id, 300, true));
  int64_t best_ns = INT64_MAX;
  size_t bytes = 0;
  for (int round = 0; round < 100; ++round) {
    const int64_t begin_ns = now_ns();
    bytes = flight_text(comms, "request", {.comms = 64, .calls = 8}).size();
    best_ns = std::min(best_ns, now_ns() - begin_ns);
  }
  WARN("fastest of 100: " << best_ns / 1000 << " us for " << bytes << " bytes");
  CHECK(bytes > 0);
}

}  // namespace rondo::test
