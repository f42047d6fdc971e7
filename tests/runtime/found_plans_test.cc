// SPDX-License-Identifier: Apache-2.0
// Calls by algorithms that are not of the table: along the links of a described machine (RONDO_TOPO_FILE, and
// the algorithms forest and rings), and out of MSCCL's files (file:PATH).
#include <rondo/topology.h>

#include <filesystem>
#include <fstream>

#include "catch.h"
#include "exchange.h"
#include "folder.h"
#include "formats/msccl_xml.h"
#include "graph/known_machines.h"
#include "graph/topology_graph.h"
#include "nccl_host.h"
#include "oracle.h"
#include "sanitized.h"
#include "worlds.h"

namespace rondo::test {
namespace {

/// Two GPUs exchange their blocks.
constexpr const char* kExchange =
    R"(<algo name="exchange" nchunksperloop="2" ngpus="2" coll="allgather" inplace="0">
  <gpu id="0"> <tb id="0" send="1" recv="1" chan="0">
    <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1"/>
    <step s="1" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1"/>
    <step s="2" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1"/>
  </tb> </gpu>
  <gpu id="1"> <tb id="0" send="0" recv="0" chan="0">
    <step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1"/>
    <step s="1" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1" cnt="1"/>
    <step s="2" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0" cnt="1"/>
  </tb> </gpu>
</algo>
)";

/// Two GPUs send each other a block, each of which may come before the other has left.
constexpr const char* kSwap = R"(<algo name="swap" nchunksperloop="2" ngpus="2" coll="alltoall" inplace="0">
  <gpu id="0">
    <tb id="0" send="1" recv="-1" chan="0"><step s="0" type="s" srcbuf="i" srcoff="1" dstbuf="o" dstoff="0"/></tb>
    <tb id="1" send="-1" recv="1" chan="0"><step s="0" type="r" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1"/></tb>
    <tb id="2" send="-1" recv="-1" chan="0"><step s="0" type="cpy" srcbuf="i" srcoff="0" dstbuf="o" dstoff="0"/></tb>
  </gpu>
  <gpu id="1">
    <tb id="0" send="0" recv="-1" chan="0"><step s="0" type="s" srcbuf="i" srcoff="0" dstbuf="o" dstoff="1"/></tb>
    <tb id="1" send="-1" recv="0" chan="0"><step s="0" type="r" srcbuf="i" srcoff="1" dstbuf="o" dstoff="0"/></tb>
    <tb id="2" send="-1" recv="-1" chan="0"><step s="0" type="cpy" srcbuf="i" srcoff="1" dstbuf="o" dstoff="1"/></tb>
  </gpu>
</algo>
)";

struct Plans {
  std::string name;
  std::vector<Kind> kinds;

  std::string rules() const {
    std::string text;
    for (const Kind kind : kinds) text += fmt::format("{}={};", collective_name(kind), name);
    return text;
  }
  bool serve(const Trial& trial) const {
    const bool relays = trial.kind == Kind::Gather || trial.kind == Kind::Scatter;
    return std::ranges::find(kinds, trial.kind) != kinds.end() && !(trial.varying && relays);
  }
};
const Plans kForestPlans = {"forest",
                            {Kind::AllReduce, Kind::Broadcast, Kind::Reduce, Kind::AllGather,
                             Kind::ReduceScatter, Kind::Gather, Kind::Scatter, Kind::Barrier}};
const Plans kRingPlans = {
    "rings", {Kind::AllReduce, Kind::Broadcast, Kind::Reduce, Kind::AllGather, Kind::ReduceScatter}};

void run_planned(const Rank& rank, const Plans& plans, const Trial& trial) {
  if (!plans.serve(trial)) return;
  run_trial(rank, trial);
  require(last_algorithm(rank) == plans.name, trial.text() + " went by " + last_algorithm(rank));
}

void run_all_kinds(const Rank& rank, const Plans& plans) {
  for (const Kind kind : plans.kinds)
    for (const int root : {0, has_root(kind) ? rank.size - 1 : 0})
      for (const size_t count : {0u, 1u, 13u, 211u, 5003u}) {
        Trial trial{.kind = kind, .count = count, .root = root};
        trial.seed = mix(count, static_cast<uint64_t>(root), static_cast<uint64_t>(kind));
        trial.varying = traits(kind).has_blocks() && trial.seed % 2 == 0;
        trial.in_place = kind != Kind::Barrier && trial.seed % 3 == 0;
        trial.shift = trial.seed % 5 == 0 ? 3 : 0;
        run_planned(rank, plans, trial);
      }
}

/// Runs all kinds as as many ranks.
void run_as(int nranks, const Plans& plans) {
  INFO(plans.name);
  expect_success(run_world({.nranks = nranks, .transport = "shm", .algorithm = plans.rules()},
                           [&](Rank& rank) { run_all_kinds(rank, plans); }));
}

/// The number of GPUs, if there are at most 16 (8 in brief) and a plan between them; else 0.
int ranks_of(const Machine& machine) {
  const auto graph = TopologyGraph::build(machine);
  const int gpus = graph.ok() ? static_cast<int>(graph.value().gpus().size()) : 0;
  return gpus < 2 || gpus > (brief() ? 8 : 16) ? 0 : gpus;
}

/// Describes a well-known machine in a file of the folder.
std::string file_of(const Folder& folder, const std::string& name) {
  rondo_topology_t topology = nullptr;
  check(rondo_topology_named(&topology, name.c_str(), nullptr));
  std::string path = folder / name;
  check(rondo_topology_save(topology, path.c_str()));
  rondo_topology_free(topology);
  return path;
}

TEST_CASE("calls along the links of any recorded machine are right") {
  if (kSanitized) return;  // they take the same code as the well-known ones, and long
  const Environment slots("RONDO_SLOT_BYTES", "1024");
  for (const std::string& path : recorded_topologies()) {
    const auto machine = machine_from_nccl_xml_file(path);
    const int nranks = machine.ok() ? ranks_of(machine.value()) : 0;
    if (nranks == 0) continue;
    const Environment file("RONDO_TOPO_FILE", path);
    INFO(path);
    run_as(nranks, kForestPlans);
    run_as(nranks, kRingPlans);
  }
}

TEST_CASE("calls by unequal trees and six rings are right for every type and operation, with one slot") {
  const Folder folder;
  const Environment file("RONDO_TOPO_FILE", file_of(folder, "dgx-1v"));
  const Environment slots("RONDO_SLOTS", "1");
  for (const Plans& plans : {kForestPlans, kRingPlans})
    for (const bool threads : {false, true}) {
      if (kSanitized && !threads) continue;
      expect_success(run_world({.nranks = 8,
                                .transport = threads ? "local" : "shm",
                                .algorithm = plans.rules(),
                                .threads = threads},
                               [&](Rank& rank) {
                                 run_all_kinds(rank, plans);
                                 if (kSanitized) return;
                                 for (const Trial& trial : every_type_and_operation(rank.size))
                                   run_planned(rank, plans, trial);
                               }));
    }
}

TEST_CASE("ranks fewer than the machine's GPUs are planned as its first GPUs") {
  const Folder folder;
  const Environment file("RONDO_TOPO_FILE", file_of(folder, "mi250"));
  for (const int nranks : {1, 2, 5}) run_as(nranks, kForestPlans);
}

/// Of the folder that RONDO_TEST_DATA names.
std::vector<std::string> recorded_algorithms() {
  const char* data = std::getenv("RONDO_TEST_DATA");
  std::vector<std::string> found;
  if (data == nullptr) {
    WARN("skipped: the recorded algorithms, since RONDO_TEST_DATA does not name a folder with algorithms/");
    return found;
  }
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(data) / "algorithms"))
    if (entry.path().extension() == ".xml" && entry.path().stem() != "ndv2-allreduce-8gpu-simple")  // wrong
      found.push_back(entry.path());
  return found;
}

TEST_CASE("calls by any recorded algorithm of MSCCL are right") {
  for (const std::string& path : recorded_algorithms()) {
    const auto program = msccl_program_from_xml_file(path);
    REQUIRE(program.status().message() == "");
    const int nranks = static_cast<int>(program.value().gpus.size());
    if (kSanitized && nranks > 4 && path.find("allpairs-ll") == std::string::npos) continue;
    const Plans plans{"file:" + path, {program.value().collective}};
    INFO(path);
    for (const bool small : {true, false}) {
      const Environment slots(
          {{"RONDO_SLOT_BYTES", small ? "256" : "65536"}, {"RONDO_SLOTS", small ? "1" : "4"}});
      expect_success(
          run_world({.nranks = nranks, .transport = "shm", .algorithm = plans.rules()}, [&](Rank& rank) {
            for (const size_t count : {0u, 1u, 2u, 13u, 211u, small ? 5003u : 70'001u})
              for (const bool in_place : {false, true}) {
                if (in_place && plans.kinds[0] == Kind::AllToAll) continue;
                run_planned(rank, plans, {.kind = plans.kinds[0], .count = count, .in_place = in_place});
              }
            for (const Trial& trial : every_type_and_operation(rank.size)) run_planned(rank, plans, trial);
          }));
    }
  }
}

/// A short call of the first rank fails so.
void refuse(int nranks, const std::string& rule, rondo_status_t code, const std::vector<std::string>& words) {
  INFO(rule);
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.algorithm = rule.c_str();
  const LocalRanks ranks(nranks, config);
  const rondo_comm_t comm = ranks.comms[0];
  std::vector<float> in(64, 1), out(64);
  if (rule.starts_with("all_gather"))
    check_fails(rondo_all_gather(in.data(), out.data(), 1, RONDO_FLOAT32, comm, nullptr), code, words, comm);
  else
    check_fails(rondo_all_reduce(in.data(), out.data(), 1, RONDO_FLOAT32, RONDO_SUM, comm, nullptr), code,
                words, comm);
}

TEST_CASE("calls in place are refused by a file that needs an output of its own") {
  const Folder folder;
  const std::string path = folder / "swap.xml";
  std::ofstream(path) << kSwap;
  expect_success(
      run_world({.nranks = 2, .algorithm = "all_to_all=file:" + path, .threads = true}, [](Rank& rank) {
        std::vector<int> in{1, 2}, out{3, 4};
        check(rondo_all_to_all(in.data(), out.data(), 1, RONDO_INT32, rank.comm, nullptr), rank.comm);
        require(out[0] == 1 + rank.rank && out[1] == 1 + rank.rank, "wrong");
        // The other rank, which has separate buffers, must not wait for one that cannot go on.
        int* const recv = rank.rank == 0 ? in.data() : out.data();
        const rondo_status_t status = rondo_all_to_all(in.data(), recv, 1, RONDO_INT32, rank.comm, nullptr);
        check_fails(status, RONDO_INVALID_USAGE, {"all_to_all", "swap.xml", "in place"}, rank.comm);
      }));
}

TEST_CASE("a file that is for other calls is refused") {
  const Folder folder;
  const std::string path = folder / "exchange.xml";
  std::ofstream(path) << kExchange;
  refuse(3, "all_reduce=file:" + path, RONDO_INVALID_ARGUMENT, {"exchange.xml", "it is for all_gather"});
  refuse(2, "all_reduce=file:" + (folder / "none.xml"), RONDO_SYSTEM_ERROR, {"none.xml"});
  refuse(2, "all_reduce=file:" + (folder / "me@home.xml"), RONDO_SYSTEM_ERROR, {"me@home.xml"});
  refuse(3, "all_gather=file:" + path, RONDO_INVALID_USAGE, {"exchange.xml", "it does not serve 3 ranks"});
  expect_success(
      run_world({.nranks = 2, .algorithm = "all_gather=file:" + path, .threads = true}, [](Rank& rank) {
        for (const size_t count : {1u, 5003u})
          run_trial(rank, {.kind = Kind::AllGather, .count = count, .varying = count > 1});
        require(last_algorithm(rank).ends_with("exchange.xml"), last_algorithm(rank));
      }));
}

TEST_CASE("a plan that cannot be made is refused with the reason") {
  const Folder folder;
  const std::string path = file_of(folder, "hgx-h100");
  {
    const Environment file("RONDO_TOPO_FILE", path);
    refuse(9, "all_reduce=forest", RONDO_INVALID_USAGE, {"all_reduce by forest", "8 GPUs for 9 ranks"});
    const Environment reproducible("RONDO_REPRODUCIBLE", "1");
    refuse(3, "all_reduce=forest", RONDO_UNSUPPORTED, {"RONDO_REPRODUCIBLE is 1", "forest"});
  }
  const Environment file("RONDO_TOPO_FILE", folder / "none.xml");
  refuse(2, "all_reduce=rings", RONDO_SYSTEM_ERROR, {"RONDO_TOPO_FILE", "none.xml"});
}

TEST_CASE("ranks that plan by different machines find out") {
  const Folder folder;
  const std::string mine = file_of(folder, "dgx-1v"), other = file_of(folder, "mi250");
  const WorldOptions world{.nranks = 8, .transport = "shm", .algorithm = kForestPlans.rules()};
  for (const int odd : kSanitized ? std::vector{3} : std::vector{0, 3, 7})
    expect_success(run_world(world, [&](Rank& rank) {
      const Environment file("RONDO_TOPO_FILE", rank.rank == odd ? other : mine);
      std::vector<int> in(1000, 1), out(1000, 7);
      check_fails(
          rondo_all_reduce(in.data(), out.data(), in.size(), RONDO_INT32, RONDO_SUM, rank.comm, nullptr),
          RONDO_MISMATCH, {"all_reduce"}, rank.comm);
    }));
}

TEST_CASE("a rank that cannot plan by its machine tells the others") {
  const Folder folder;
  const std::string good = file_of(folder, "dgx-1v"), bad = folder / "none.xml";
  expect_success(
      run_world({.nranks = 3, .transport = "shm", .algorithm = "all_reduce=forest"}, [&](Rank& rank) {
        const Environment file("RONDO_TOPO_FILE", rank.rank == 1 ? bad : good);
        int one = 1, sum = 0;
        rondo_status_t status = rondo_barrier(rank.comm, nullptr);  // may already report a rank that is ahead
        if (status == RONDO_OK)
          status = rondo_all_reduce(&one, &sum, 1, RONDO_INT32, RONDO_SUM, rank.comm, nullptr);
        check_fails(status, RONDO_SYSTEM_ERROR, {"rank 1", "none.xml"}, rank.comm);
      }));
}

TEST_CASE("a collective without a forest says which algorithms it has") {
  rondo_comm_t comm = nullptr;
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.algorithm = "all_to_all=forest";
  check_fails(rondo_init_all(&comm, 1, &config), RONDO_INVALID_ARGUMENT,
              {"all_to_all", "forest", "pairwise"});
  config.algorithm = "all_reduce=woods";
  check_fails(rondo_init_all(&comm, 1, &config), RONDO_INVALID_ARGUMENT,
              {"woods", "ring", "forest", "rings", "file:PATH"});
}

}  // namespace
}  // namespace rondo::test
