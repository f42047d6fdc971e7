// SPDX-License-Identifier: Apache-2.0
// rondo/plan.h as a program uses it.
#include "rondo/plan.h"

#include <atomic>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "c_api_checks.h"
#include "folder.h"

using namespace rondo::test;

namespace {

struct OwnedPlan {
  OwnedPlan() = default;
  OwnedPlan(const OwnedPlan&) = delete;
  ~OwnedPlan() { rondo_plan_free(plan); }
  rondo_plan_t plan = nullptr;
};

struct OwnedRun {
  OwnedRun() = default;
  OwnedRun(const OwnedRun&) = delete;
  ~OwnedRun() { rondo_plan_run_free(run); }
  rondo_plan_run_t run = nullptr;
};

rondo_plan_call_t call_of(const char* collective, int ranks, int root = 0, int group = 1) {
  rondo_plan_call_t call = RONDO_PLAN_CALL_INITIALIZER;
  call.collective = collective;
  call.ranks = ranks;
  call.root = root;
  call.group = group;
  return call;
}

void table(OwnedPlan& owned, const char* algorithm, const rondo_plan_call_t& call) {
  const rondo_status_t made = rondo_plan_named(&owned.plan, &call, algorithm);
  INFO(rondo_last_error(nullptr));
  REQUIRE(made == RONDO_OK);
}

rondo_plan_proof_t proof_of(rondo_plan_t plan) {
  rondo_plan_proof_t proof = {};
  proof.size = sizeof(proof);
  REQUIRE(rondo_plan_verify(plan, &proof) == RONDO_OK);
  return proof;
}

rondo_plan_time_t time_of(rondo_plan_t plan, const rondo_plan_network_t* network) {
  OwnedRun owned;
  REQUIRE(rondo_plan_simulate(&owned.run, plan, network) == RONDO_OK);
  rondo_plan_time_t time = {};
  time.size = sizeof(time);
  REQUIRE(rondo_plan_time(owned.run, &time) == RONDO_OK);
  time.busiest = nullptr;  // freed with the run
  return time;
}

}  // namespace

TEST_CASE("a plan of the table has the ranks, lanes and steps of its algorithm, and is proved") {
  OwnedPlan ring;
  table(ring, "ring", call_of("allreduce", 4));
  rondo_plan_info_t info = {};
  info.size = sizeof(info);
  REQUIRE(rondo_plan_info(ring.plan, &info) == RONDO_OK);
  CHECK(info.name == std::string("ring"));
  CHECK(info.collective == std::string("all_reduce"));
  CHECK(info.ranks == 4);
  CHECK(info.parts == 4);
  CHECK(info.chunks == 4);
  rondo_plan_rank_t of_rank = {};
  of_rank.size = sizeof(of_rank);
  REQUIRE(rondo_plan_rank(ring.plan, 3, &of_rank) == RONDO_OK);
  CHECK(of_rank.lanes == 1);
  CHECK(of_rank.steps == 7);
  CHECK(of_rank.messages == 6);
  CHECK(of_rank.sent == 6);
  const char* text = nullptr;
  REQUIRE(rondo_plan_step(ring.plan, 3, 0, 0, &text) == RONDO_OK);
  CHECK(text == std::string("input[2], send 0"));
  const char* again = nullptr;
  REQUIRE(rondo_plan_step(ring.plan, 3, 0, 0, &again) == RONDO_OK);
  CHECK(again == text);
  REQUIRE(rondo_plan_step(ring.plan, 3, 0, 7, &text) == RONDO_OK);
  CHECK(text == nullptr);
  const rondo_plan_proof_t proof = proof_of(ring.plan);
  CHECK(proof.verifies == 1);
  CHECK(proof.slots == 1);
  CHECK(proof.in_place == 1);
  CHECK(proof.association == std::string("own order"));
  CHECK(proof.fault == std::string());
}

TEST_CASE("a proof says in which order results combine operands") {
  const std::map<const char*, const char*> expected = {{"one_shot", "one fold"},
                                                       {"recursive_doubling", "own order"}};
  for (const auto& [name, order] : expected) {
    OwnedPlan plan;
    table(plan, name, call_of("all_reduce", 4));
    CHECK(proof_of(plan.plan).association == std::string(order));
  }
  OwnedPlan gathered, chain;
  table(gathered, "ring", call_of("all_gather", 4));
  CHECK(proof_of(gathered.plan).association == std::string());
  table(chain, "chain", call_of("reduce", 4, 3));
  CHECK(proof_of(chain.plan).association == std::string("rank order"));
}

TEST_CASE("groups and roots are part of a call") {
  OwnedPlan plan, hierarchical;
  table(plan, "binomial", call_of("broadcast", 5, 3));
  rondo_plan_info_t info = {};
  info.size = sizeof(info);
  REQUIRE(rondo_plan_info(plan.plan, &info) == RONDO_OK);
  CHECK(info.root == 3);
  table(hierarchical, "hierarchical", call_of("all_reduce", 8, 0, 4));
  CHECK(proof_of(hierarchical.plan).verifies == 1);
  OwnedPlan none;
  const rondo_plan_call_t call = call_of("all_reduce", 8);
  refused(rondo_plan_named(&none.plan, &call, "hierarchical"), RONDO_UNSUPPORTED,
          "all_reduce by hierarchical does not serve 8 ranks");
}

TEST_CASE("on ports, a ring takes the textbook's time, and the parts of a time add up to it") {
  OwnedPlan ring;
  table(ring, "ring", call_of("all_reduce", 8));
  rondo_plan_network_t network = RONDO_PLAN_NETWORK_INITIALIZER;
  network.bandwidth = 10;
  network.latency = 1e-6;
  network.bytes = 8e6;
  const rondo_plan_time_t time = time_of(ring.plan, &network);
  CHECK(time.seconds == Approx(14 * (1e-6 + 1e6 / 1e10)));
  CHECK(time.rounds == Approx(14));
  CHECK(time.latency == Approx(14e-6));
  CHECK(time.busiest_bytes == Approx(14e6));
  CHECK(time.busiest_time == Approx(1.4e-3));
  CHECK(time.waits == Approx(0).margin(1e-12));
  CHECK(time.bandwidth == Approx(2 * 7.0 / 8 * 8e6 / time.seconds / 1e9));
  CHECK(time.limit == 0);
  CHECK(time.messages == 8 * 14);
}

TEST_CASE("the text about a run has its parts and its bandwidth") {
  OwnedPlan ring;
  table(ring, "ring", call_of("all_reduce", 8));
  rondo_plan_network_t network = RONDO_PLAN_NETWORK_INITIALIZER;
  network.bandwidth = 10;
  network.latency = 1e-6;
  OwnedRun owned;
  REQUIRE(rondo_plan_simulate(&owned.run, ring.plan, &network) == RONDO_OK);
  const char* text = nullptr;
  REQUIRE(rondo_plan_explain(owned.run, &text) == RONDO_OK);
  const std::string told = text;
  INFO(told);
  CHECK(told.starts_with("64 MiB: 11.8 ms\n  rounds        14 x 1 us "));
  CHECK(told.find("  busiest link  port out of rank 0: 112 MiB at 10.0 GB/s ") != std::string::npos);
  CHECK(told.ends_with("\n  bus bandwidth 10.0 GB/s\n"));
  refused(rondo_plan_explain(owned.run, nullptr), RONDO_INVALID_ARGUMENT, "text is NULL");
  refused(rondo_plan_explain(nullptr, &text), RONDO_INVALID_ARGUMENT, "run is NULL");
}

TEST_CASE("messages of a run name their step, and come in the order in which they leave") {
  OwnedPlan ring;
  table(ring, "ring", call_of("all_gather", 4));
  rondo_plan_network_t network = RONDO_PLAN_NETWORK_INITIALIZER;
  network.tiles = 2;
  network.bytes = 8e6;
  OwnedRun owned;
  REQUIRE(rondo_plan_simulate(&owned.run, ring.plan, &network) == RONDO_OK);
  rondo_plan_time_t time = {};
  time.size = sizeof(time);
  REQUIRE(rondo_plan_time(owned.run, &time) == RONDO_OK);
  CHECK(std::string(time.busiest) == "port out of rank 0");
  REQUIRE(time.messages == 2 * 4 * 3);
  double before = 0, latest = 0;
  for (int i = 0; i != time.messages; ++i) {
    rondo_plan_message_t message = {};
    message.size = sizeof(message);
    REQUIRE(rondo_plan_message(owned.run, i, &message) == RONDO_OK);
    CHECK(message.to == (message.from + 1) % 4);
    CHECK(message.bytes == 1e6);
    CHECK(message.count == 1);
    CHECK(message.ends >= before);
    CHECK(message.begins < message.ends);
    CHECK(message.arrives == Approx(message.ends + network.latency));
    if (message.step == 0) CHECK(message.chunk == message.from);
    const char* text = nullptr;
    REQUIRE(rondo_plan_step(ring.plan, message.from, message.lane, message.step, &text) == RONDO_OK);
    CHECK_THAT(text, Catch::Contains("send " + std::to_string(message.to)));
    before = message.ends;
    latest = std::max(latest, message.arrives);
  }
  CHECK(latest == time.seconds);
  rondo_plan_message_t none = {};
  none.size = sizeof(none);
  refused(rondo_plan_message(owned.run, time.messages, &none), RONDO_INVALID_ARGUMENT,
          "index is 24: expected 0 to 23");
}

TEST_CASE("plans that were found for a machine reach its limit by its links") {
  for (const auto& [name, least] : std::map<const char*, double>{{"hgx-h100", 0.99}, {"dgx-1v", 0.9}}) {
    Owned box;
    named(box, name);
    OwnedPlan forest, rings, ring;
    const rondo_plan_call_t call = call_of("all_gather", 8);
    REQUIRE(rondo_plan_found(&forest.plan, &call, "forest", box.topology) == RONDO_OK);
    REQUIRE(rondo_plan_found(&rings.plan, &call, "rings", box.topology) == RONDO_OK);
    CHECK(proof_of(forest.plan).verifies == 1);
    CHECK(proof_of(rings.plan).verifies == 1);
    rondo_plan_network_t network = RONDO_PLAN_NETWORK_INITIALIZER;
    network.topology = box.topology;
    network.latency = 0;
    network.bytes = 1e9;
    network.tiles = 40;
    network.slots = 4;
    for (const rondo_plan_t plan : {forest.plan, rings.plan}) {
      const rondo_plan_time_t time = time_of(plan, &network);
      rondo_topology_limit_t limit = {};
      limit.size = sizeof(limit);
      REQUIRE(rondo_topology_limit(box.topology, "all_gather", 0, 0, &limit) == RONDO_OK);
      CHECK(time.limit == Approx(limit.bandwidth));
      CHECK(time.bandwidth <= time.limit * (1 + 1e-6));
      CHECK(time.bandwidth >= time.limit * least);
      CHECK(time.busiest_time <= time.seconds * (1 + 1e-6));
    }
    // A ring in rank order has hops that no NVLink of a DGX-1V joins: other GPUs forward them.
    table(ring, "ring", call);
    const rondo_plan_time_t time = time_of(ring.plan, &network);
    CHECK(time.bandwidth <= time.limit * (1 + 1e-6));
    CHECK((time.bandwidth < 0.4 * time.limit) == (name == std::string("dgx-1v")));
    rondo_topology_free(box.topology);
    box.topology = nullptr;  // plans outlive it
    const char* text = nullptr;
    CHECK(rondo_plan_step(forest.plan, 0, 0, 0, &text) == RONDO_OK);
  }
}

TEST_CASE("what is exported is imported again, and verifies") {
  const Folder folder;
  Owned box;
  named(box, "dgx-1v");
  const rondo_plan_call_t call = call_of("all_reduce", 8);
  OwnedPlan forest, again;
  REQUIRE(rondo_plan_found(&forest.plan, &call, "forest", box.topology) == RONDO_OK);
  const std::string path = folder / "forest.xml";
  REQUIRE(rondo_plan_export(forest.plan, path.c_str()) == RONDO_OK);
  REQUIRE(rondo_plan_import(&again.plan, path.c_str()) == RONDO_OK);
  rondo_plan_info_t info = {};
  info.size = sizeof(info);
  REQUIRE(rondo_plan_info(again.plan, &info) == RONDO_OK);
  CHECK(info.name == std::string("forest"));
  CHECK(info.ranks == 8);
  CHECK(proof_of(again.plan).verifies == 1);
  OwnedPlan broadcast;
  table(broadcast, "chain", call_of("broadcast", 4));
  refused(rondo_plan_export(broadcast.plan, path.c_str()), RONDO_UNSUPPORTED,
          "MSCCL's files have no broadcast");
  refused(rondo_plan_export(forest.plan, "/nowhere/at/all"), RONDO_SYSTEM_ERROR,
          "cannot write /nowhere/at/all: No such file or directory [R0902]");
}

TEST_CASE(
    "a file that does something else than its collective is imported, and its proof says what is wrong") {
  const Folder folder;
  const std::string path = folder / "ring.xml";
  OwnedPlan ring, wrong, cyclic;
  table(ring, "ring", call_of("all_gather", 2));
  REQUIRE(rondo_plan_export(ring.plan, path.c_str()) == RONDO_OK);
  std::ifstream file(path);
  std::stringstream content;
  content << file.rdbuf();
  std::string text = content.str();
  const std::string cycle = text;
  const auto replace = [](std::string& in, const std::string& old, const std::string& by) {
    REQUIRE(in.find(old) != std::string::npos);
    in.replace(in.find(old), old.size(), by);
  };
  replace(text, R"(dstbuf="o" dstoff="1")", R"(dstbuf="o" dstoff="0")");
  std::ofstream(path) << text;
  REQUIRE(rondo_plan_import(&wrong.plan, path.c_str()) == RONDO_OK);
  const rondo_plan_proof_t proof = proof_of(wrong.plan);
  CHECK(proof.verifies == 0);
  CHECK(proof.slots == 0);
  CHECK_THAT(proof.fault, Catch::Contains("rank 0"));
  text = cycle;
  while (text.find(R"(type="s")") != std::string::npos) replace(text, R"(type="s")", R"(type="r")");
  std::ofstream(path) << text;
  refused(rondo_plan_import(&cyclic.plan, path.c_str()), RONDO_INVALID_ARGUMENT, path + ":");
  CHECK(cyclic.plan == nullptr);
}

TEST_CASE("arguments of plans that make no sense are refused by name") {
  OwnedPlan none, ring;
  rondo_plan_call_t call = call_of("all_reduce", 4);
  table(ring, "ring", call);
  refused(rondo_plan_named(nullptr, &call, "ring"), RONDO_INVALID_ARGUMENT, "plan is NULL");
  refused(rondo_plan_named(&none.plan, nullptr, "ring"), RONDO_INVALID_ARGUMENT, "call is NULL");
  refused(rondo_plan_named(&none.plan, &call, "rings"), RONDO_INVALID_ARGUMENT, "did you mean ring?");
  for (const auto& [ranks, sentence] :
       std::map<int, const char*>{{0, "call->ranks is 0: expected 1 to 256"}, {257, "call->ranks is 257"}}) {
    call.ranks = ranks;
    refused(rondo_plan_named(&none.plan, &call, "ring"), RONDO_INVALID_ARGUMENT, sentence);
  }
  call = call_of("all_reduces", 4);
  refused(rondo_plan_named(&none.plan, &call, "ring"), RONDO_INVALID_ARGUMENT, "did you mean all_reduce?");
  call = call_of("broadcast", 4, 4);
  refused(rondo_plan_named(&none.plan, &call, "chain"), RONDO_INVALID_ARGUMENT,
          "call->root is 4: expected 0 to 3");
  call = call_of("all_reduce", 4, 0, 5);
  refused(rondo_plan_named(&none.plan, &call, "ring"), RONDO_INVALID_ARGUMENT,
          "call->group is 5: expected 1 to 4");
  call = call_of("all_reduce", 4, 0, 2);
  const int weights[] = {1, 0}, right[] = {1, 3};
  call.weights = weights;
  refused(rondo_plan_named(&none.plan, &call, "hierarchical"), RONDO_INVALID_ARGUMENT,
          "call->weights[1] is 0: expected 1 to 64");
  call.weights = right;
  refused(rondo_plan_named(&none.plan, &call, "ring"), RONDO_UNSUPPORTED,
          "all_reduce by ring does not serve 4 ranks in groups of 2 with weights");
  call.collective = "all_gather";
  refused(rondo_plan_named(&none.plan, &call, "hierarchical"), RONDO_UNSUPPORTED, "with weights");
  call.size = 8;
  refused(rondo_plan_named(&none.plan, &call, "ring"), RONDO_INVALID_ARGUMENT, "call->size is 8");
  refused(rondo_plan_import(&none.plan, "/nowhere/at/all"), RONDO_SYSTEM_ERROR,
          "/nowhere/at/all: No such file");
  rondo_plan_rank_t of_rank = {};
  of_rank.size = sizeof(of_rank);
  refused(rondo_plan_rank(ring.plan, 4, &of_rank), RONDO_INVALID_ARGUMENT, "rank is 4: expected 0 to 3");
  const char* text = nullptr;
  refused(rondo_plan_step(ring.plan, 0, 1, 0, &text), RONDO_INVALID_ARGUMENT, "lane is 1: expected 0 to 0");
  refused(rondo_plan_step(nullptr, 0, 0, 0, &text), RONDO_INVALID_ARGUMENT, "plan is NULL");
  rondo_plan_proof_t proof = {};
  refused(rondo_plan_verify(ring.plan, &proof), RONDO_INVALID_ARGUMENT, "proof->size is 0");
  CHECK(rondo_plan_free(nullptr) == RONDO_OK);
  CHECK(rondo_plan_run_free(nullptr) == RONDO_OK);
}

TEST_CASE(
    "ranks of a group carry what the weights of a call say, which a caller of an older header has not") {
  rondo_plan_call_t call = call_of("all_reduce", 4, 0, 2);
  int weights[] = {1, 3};
  call.weights = weights;
  const auto parts = [&] {
    OwnedPlan owned;
    table(owned, "hierarchical", call);
    weights[1] = 64;  // the plan does not depend on the caller's memory
    CHECK(proof_of(owned.plan).verifies == 1);
    weights[1] = 3;
    rondo_plan_info_t info = {};
    info.size = sizeof(info);
    REQUIRE(rondo_plan_info(owned.plan, &info) == RONDO_OK);
    return info.parts;
  };
  CHECK(parts() == 8);  // four, each in two for the two groups
  call.size = offsetof(rondo_plan_call_t, weights);
  CHECK(parts() == 4);
}

TEST_CASE("networks that make no sense are refused by name") {
  OwnedPlan ring;
  table(ring, "ring", call_of("all_reduce", 16));
  Owned box;
  named(box, "hgx-h100");
  OwnedRun none;
  const auto refuse = [&](const auto& change, rondo_status_t status, const std::string& sentence) {
    rondo_plan_network_t network = RONDO_PLAN_NETWORK_INITIALIZER;
    change(network);
    refused(rondo_plan_simulate(&none.run, ring.plan, &network), status, sentence);
  };
  refuse([](auto& network) { network.bandwidth = 0; }, RONDO_INVALID_ARGUMENT, "network->bandwidth is 0");
  refuse([](auto& network) { network.latency = -1; }, RONDO_INVALID_ARGUMENT, "network->latency is -1");
  refuse([](auto& network) { network.bytes = -1; }, RONDO_INVALID_ARGUMENT, "network->bytes is -1");
  refuse([](auto& network) { network.slots = 0; }, RONDO_INVALID_ARGUMENT, "network->slots is 0");
  refuse([](auto& network) { network.tiles = 0; }, RONDO_INVALID_ARGUMENT, "network->tiles is 0");
  refuse([](auto& network) { network.tiles = 65536; }, RONDO_UNSUPPORTED, "messages in 65536 tiles");
  refuse([](auto& network) { network.size = 8; }, RONDO_INVALID_ARGUMENT, "network->size is 8");
  refuse([&](auto& network) { network.topology = box.topology; }, RONDO_INVALID_ARGUMENT,
         "network->topology has 8 GPUs for 16 ranks");
  OwnedPlan found;
  rondo_plan_call_t call = call_of("scan", 8);
  refused(rondo_plan_found(&found.plan, &call, "forest", box.topology), RONDO_UNSUPPORTED,
          "scan has no plan 'forest'");
  call = call_of("all_gather", 16);
  refused(rondo_plan_found(&found.plan, &call, "forest", box.topology), RONDO_INVALID_USAGE,
          "the machine has 8 GPUs for 16 ranks");
  refused(rondo_plan_found(&found.plan, &call, "forest", nullptr), RONDO_INVALID_ARGUMENT,
          "topology is NULL");
}

TEST_CASE("threads use one plan at once") {
  OwnedPlan ring;
  table(ring, "ring", call_of("all_reduce", 8));
  std::atomic<int> good = 0;
  std::vector<std::thread> threads;
  constexpr int kThreads = 4;
  for (int i = 0; i != kThreads; ++i)
    threads.emplace_back([&] {
      rondo_plan_proof_t proof = {};
      proof.size = sizeof(proof);
      const char* text = nullptr;
      rondo_plan_run_t run = nullptr;
      const bool all = rondo_plan_verify(ring.plan, &proof) == RONDO_OK &&
                       rondo_plan_step(ring.plan, 0, 0, 3, &text) == RONDO_OK &&
                       rondo_plan_simulate(&run, ring.plan, nullptr) == RONDO_OK;
      if (all && proof.verifies == 1 && text != nullptr) ++good;
      rondo_plan_run_free(run);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(good == kThreads);
}
