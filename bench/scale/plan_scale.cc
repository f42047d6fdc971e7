// SPDX-License-Identifier: Apache-2.0
// plan-scale: what plans for many hosts cost to make, and how long their calls take: predicted by the formula
// from which algorithms are chosen, and simulated, link by link, as far as that is feasible. Nothing is run.
#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.h"
#include "allocations.h"
#include "plan/connection_costs.h"
#include "schedule/simulator.h"

namespace {

using rondo::Algorithm;
using rondo::CollectiveKind;
using rondo::Schedule;
using rondo::Shape;

constexpr int kRanksOfHost = 8;
constexpr double kFabric_GBps = 360;  // of a GPU, in each direction: NVLink of an H100
constexpr double kNic_GBps = 50;      // of a GPU's NIC: 400 Gbit/s
constexpr double kLatency_us = 5;     // of each message
constexpr size_t kSlotBytes = 1 << 20;
constexpr const char* kAlgorithms[] = {"ring", "double_binary_tree", "hierarchical_ring",
                                       "hierarchical_doubling", "hierarchical_tree"};
constexpr int kRanks[] = {16, 64, 256, 1024, 4096, 16384, 100'000};
constexpr int kMaxSimulated = 4096;  // ranks
constexpr size_t kBytes[] = {8, size_t{1} << 20, size_t{1} << 30};
/// The most messages whose simulation is waited for.
constexpr double kMaxMessages = 6e5;

double us_per_byte(double GBps) { return 1e-3 / GBps; }

rondo::LinkModel links_of(int nranks) {
  rondo::LinkModel links{.nranks = nranks, .hosts = nranks / kRanksOfHost};
  links.cost = {.latency_us = kLatency_us, .us_per_byte = us_per_byte(kNic_GBps)};
  links.levels = kRanksOfHost;
  links.inner_costs = {{.latency_us = kLatency_us, .us_per_byte = us_per_byte(kFabric_GBps)}};
  return links;
}

rondo::Call call_of(size_t bytes) {
  rondo::Call call;
  call.kind = CollectiveKind::AllReduce;
  call.type = rondo::CallType::of(rondo::ElementType::Float32);
  call.op = rondo::CallOp::of(rondo::Reduction::Sum);
  call.count = bytes / call.type.bytes;
  return call;
}

/// A link out of and one into each rank, on the fabric of its host and on the network.
rondo::SimulatedNetwork network_of(int nranks) {
  rondo::SimulatedNetwork network{.latency_s = kLatency_us * 1e-6, .slots = 2};
  for (int link = 0; link < 4 * nranks; ++link)
    network.links.push_back((link % 4 < 2 ? kFabric_GBps : kNic_GBps) * 1e9);
  network.route = [](int from, int to, int) -> std::vector<rondo::SimulatedLinkUse> {
    const int between = from / kRanksOfHost == to / kRanksOfHost ? 0 : 2;
    return {{4 * from + between}, {4 * to + between + 1}};
  };
  return network;
}

size_t steps_of(const Schedule& schedule) {
  size_t steps = 0;
  for (const rondo::Lane& lane : schedule.lanes) steps += lane.steps.size();
  return steps;
}

struct ConnectedRanks {
  size_t near = 0;
  size_t far = 0;  // on other hosts
};

ConnectedRanks peers_of(const Schedule& schedule) {
  std::set<int> peers;
  for (const auto& set : schedule.peer_sets)
    for (const int member : set)
      if (schedule.is_peer(member)) peers.insert(member);
  ConnectedRanks found;
  for (const int peer : peers)
    ++(peer / kRanksOfHost == schedule.rank / kRanksOfHost ? found.near : found.far);
  return found;
}

void print_plans(int nranks) {
  fmt::print("The plan of one of {} ranks, in hosts of {}:\n\n", nranks, kRanksOfHost);
  fmt::print(
      "| all_reduce | ms to make | KiB meanwhile | steps | connections in the host | to other hosts |\n");
  fmt::print("|---|---|---|---|---|---|\n");
  const rondo::Call call = call_of(kBytes[1]);
  const rondo::LinkModel links = links_of(nranks);
  const Shape shape = links.shape(call);
  for (const char* name : kAlgorithms) {
    const Algorithm& algorithm = *rondo::algorithm_by_name(call.kind, name).value();
    if (!algorithm.supports(shape)) {
      fmt::print("| {} | - | - | needs more than 16-bit numbers | | |\n", name);
      continue;
    }
    begin_allocations();
    const auto begin = std::chrono::steady_clock::now();
    const Schedule schedule = algorithm.build(shape, nranks / 2 + 3);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    const size_t peak = peak_allocations();
    const ConnectedRanks peers = peers_of(schedule);
    fmt::print("| {} | {:.3f} | {:.1f} | {} | {} | {} |\n", name, time.count(),
               static_cast<double>(peak) / 1024, steps_of(schedule), peers.near, peers.far);
  }
}

/// In microseconds; negative: too much to simulate.
double simulated_us(const Algorithm& algorithm, const Shape& shape, const rondo::Prediction& prediction,
                    size_t bytes, int max_simulated) {
  const rondo::Cost cost = algorithm.cost(shape);
  const double messages = std::max(cost.rounds, cost.messages) * shape.nranks;
  const size_t tile = prediction.chunk_bytes * static_cast<size_t>(algorithm.parts(shape));
  const auto tiles = static_cast<int>(std::max<size_t>(1, (bytes + tile - 1) / tile));
  if (shape.nranks > max_simulated || messages * tiles > kMaxMessages) return -1;
  std::vector<Schedule> ranks;
  for (int rank = 0; rank < shape.nranks; ++rank) ranks.push_back(algorithm.build(shape, rank));
  const auto time =
      rondo::simulate(shape, ranks, static_cast<double>(bytes), tiles, network_of(shape.nranks));
  if (!time.ok()) {
    fmt::print(stderr, "plan-scale: {}: {}\n", algorithm.name, time.status().message());
    std::exit(1);
  }
  return time.value() * 1e6;
}

std::string times_text(const char* name, int nranks, size_t bytes, int max_simulated) {
  const rondo::LinkModel links = links_of(nranks);
  const rondo::Call call = call_of(bytes);
  const Shape shape = links.shape(call);
  const Algorithm& algorithm = *rondo::algorithm_by_name(call.kind, name).value();
  if (!algorithm.supports(shape)) return "-";
  const auto predicted = rondo::predict_over_connections(algorithm, call, shape, links, kSlotBytes);
  const double simulated = simulated_us(algorithm, shape, predicted, bytes, max_simulated);
  return fmt::format("{:.0f}", predicted.us) + (simulated < 0 ? "" : fmt::format(" ({:.0f})", simulated));
}

void print_times(int max_simulated) {
  fmt::print("\nMicroseconds of an all_reduce, predicted and (simulated):\n\n| bytes | ranks |");
  for (const char* name : kAlgorithms) fmt::print(" {} |", name);
  fmt::print("\n|---|---|---|---|---|---|---|\n");
  for (const size_t bytes : kBytes)
    for (const int nranks : kRanks) {
      fmt::print("| {} | {} |", bytes, nranks);
      for (const char* name : kAlgorithms)
        fmt::print(" {} |", times_text(name, nranks, bytes, max_simulated));
      fmt::print("\n");
    }
}

constexpr const char* kUsage =
    "usage: plan-scale [--simulate-to RANKS]\n"
    "Prints tables of plans for many hosts (docs/scale.md).\n"
    "  --simulate-to RANKS  simulates calls of up to this many ranks (4096)\n";

}  // namespace

int main(int argc, char** argv) {
  int max_simulated = kMaxSimulated;
  const std::string_view option = argc > 1 ? argv[1] : "";
  if (argc == 2 && (option == "-h" || option == "--help")) {
    fmt::print("{}", kUsage);
    return 0;
  }
  const std::string_view value = argc == 3 ? argv[2] : "";
  const auto [end, failure] = std::from_chars(value.data(), value.data() + value.size(), max_simulated);
  const bool is_number = failure == std::errc() && end == value.data() + value.size() && max_simulated >= 0;
  if (argc > 1 && (option != "--simulate-to" || !is_number)) {
    fmt::print(stderr, "plan-scale: it takes --simulate-to RANKS, a whole number, and nothing else\n{}",
               kUsage);
    return 2;
  }
  print_plans(kRanks[std::size(kRanks) - 1]);
  print_times(max_simulated);
  return 0;
}
