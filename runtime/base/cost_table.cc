// SPDX-License-Identifier: Apache-2.0
#include "base/cost_table.h"

#include <algorithm>

namespace rondo {
namespace {

constexpr const char* kTwoCpus = "measured: 2, 4 and 8 ranks on 2 CPUs with 1 MiB of second-level cache each";
constexpr const char* kTwoCpusOfEpyc = "measured: 2, 4 and 8 ranks on 2 CPUs of an AMD EPYC";
constexpr const char* kNvlink = "prediction: the orders of magnitude of other libraries on NVLink";

// A shared-memory message is copied by the ranks' own CPUs, half of it at each end. So is one over TCP: a
// rank that only sends or only receives does half of the work, and a sender does not wait for receivers, as
// the kernel keeps what they have not taken yet. Bytes that do not come from the caches take more than twice
// as long.
constexpr CostRow kCosts[] = {
    {CostKind::SharedMemory,
     "shared memory",
     {.latency_us = 0.05,
      .us_per_byte = 2e-4,
      .us_per_message = 0.65,
      .us_per_folded_byte = 2.8e-5,
      .one_way = 0.5,
      .us_per_evicted_byte = 1e-4,
      .slot_cache_bytes = 4 << 20},
     kTwoCpusOfEpyc,
     "2026-11-27"},
    {CostKind::Turn, "turn", {.latency_us = 0.65, .us_per_byte = 0}, kTwoCpusOfEpyc, "2026-11-27"},
    {CostKind::Pull, "pull", {.latency_us = 0.28, .us_per_byte = 1.1e-4}, kTwoCpusOfEpyc, "2026-11-27"},
    {CostKind::SharedCpuPull,
     "pull, shared CPUs",
     {.latency_us = 1.5, .us_per_byte = 5.5e-5},
     kTwoCpusOfEpyc,
     "2026-11-27"},
    {CostKind::TcpInHost,
     "tcp in a host",
     {.latency_us = 1,
      .us_per_byte = 1.6e-4,
      .us_per_message = 6,
      .us_per_folded_byte = 0.8e-4,
      .one_way = 0.5,
      .us_per_cold_byte = 2e-4,
      .cached_bytes = 2 << 20,
      .runs_ahead = true},
     kTwoCpus,
     "2026-11-22"},
    {CostKind::TcpBetweenHosts,
     "tcp between hosts",
     {.latency_us = 15, .us_per_byte = 5e-4, .us_per_message = 4},
     "estimate; no network was measured",
     "2026-11-22"},
    // 80% of a port's rate is left by headers and acknowledgements; CPUs do nothing but post and poll.
    {CostKind::Verbs,
     "verbs",
     {.latency_us = 3, .us_per_byte = 8e-3 / 0.8, .us_per_message = 0.5},
     "prediction: NCCL 2.19 expects 2.7 us (src/graph/tuning.cc, hwLat of a ring by LL)",
     "2026-11-26"},
    {CostKind::Plugin,
     "plugin",
     {.latency_us = 10, .us_per_byte = 1e-4, .us_per_message = 1},
     "estimate: between verbs and tcp; no plugin was measured",
     "2026-11-26"},
    {CostKind::DeviceBlock,
     "block on a GPU",
     {.latency_us = 17, .us_per_byte = 4e-4},
     "measured: ring of 4 ranks that share an H200, 512 B to 32 KiB and 16 MiB",
     "2026-11-27"},
    {CostKind::StagedStep,
     "staged step",
     {.latency_us = 10, .us_per_byte = 0},
     "estimate; never measured where processes have a GPU each",
     "2026-11-28"},
};

// Connections overlap the two copies of a longer vector, which pulling does not; blocks that are only copied
// are read over them where they lie, with one copy. If ranks outnumber CPUs nothing overlaps, and the fewest
// turns win, but a vector of which each peer reads a different part does not stay in the caches until all
// have read it, and the ranks of a long scan (not of an exscan) overlap along a chain.
constexpr ThresholdRow kThresholds[] = {
    {Threshold::PulledVector, "pulled vector", size_t{32} << 10, kTwoCpusOfEpyc, "2026-11-27"},
    {Threshold::PulledBlocks, "pulled blocks", size_t{16} << 10,
     "measured: 2 ranks on 2 CPUs of a Xeon with 2 MiB of second-level cache each", "2026-11-29"},
    // Longer ones move to and fro in the same lines over connections (transports/shm/moving_parts.h).
    {Threshold::PulledExchange, "pulled message, two ranks", 1023,
     "measured: 2 ranks on 2 CPUs of a Xeon with 2 MiB of second-level cache each", "2026-11-30"},
    {Threshold::SharedCpuPull, "pulled vector, shared CPUs", size_t{256} << 10, kTwoCpus, "2026-11-22"},
    {Threshold::SharedCpuPartsPull, "pulled parts, shared CPUs", size_t{128} << 10, kTwoCpus, "2026-11-22"},
    {Threshold::OneStepVector, "vector in one step", size_t{64} << 10,
     "prediction: the vector is then read twice instead of once a rank", "2026-11-21"},
    {Threshold::LLMessage, "LL message", size_t{8} << 10, kNvlink, "2026-11-21"},
    // LL spends half of its bytes on flags, and wins if latency dominates; LL128 a sixteenth.
    {Threshold::LLVector, "LL vector", size_t{64} << 10, kNvlink, "2026-11-21"},
    {Threshold::LL128Message, "LL128 message", size_t{32} << 10, kNvlink, "2026-11-21"},
    {Threshold::LL128Vector, "LL128 vector", size_t{4} << 20, kNvlink, "2026-11-21"},
    {Threshold::ChannelMessage, "channel's message", size_t{4} << 10, kNvlink, "2026-11-21"},
};

constexpr FactorRow kFactors[] = {
    {Factor::FartherLink, "farther link", 2,
     "estimate: a line from another cache or memory node takes at least twice as long", "2026-11-22"},
    {Factor::DeviceChannels, "channels on GPUs", 8, kNvlink, "2026-11-21"},
};

constexpr HostFigure kHostRows[] = {
    {"shared_memory.latency_us", CostKind::SharedMemory, &LinkCost::latency_us, true},
    {"shared_memory.us_per_byte", CostKind::SharedMemory, &LinkCost::us_per_byte, true},
    {"shared_memory.us_per_message", CostKind::SharedMemory, &LinkCost::us_per_message, true},
    {"shared_memory.us_per_folded_byte", CostKind::SharedMemory, &LinkCost::us_per_folded_byte, true},
    {"shared_memory.us_per_evicted_byte", CostKind::SharedMemory, &LinkCost::us_per_evicted_byte, true},
    {"shared_memory.slot_cache_bytes", CostKind::SharedMemory, &LinkCost::slot_cache_bytes, false},
    {"turn.latency_us", CostKind::Turn, &LinkCost::latency_us, true},
    {"pull.latency_us", CostKind::Pull, &LinkCost::latency_us, true},
    {"pull.us_per_byte", CostKind::Pull, &LinkCost::us_per_byte, true},
    {"shared_cpu_pull.latency_us", CostKind::SharedCpuPull, &LinkCost::latency_us, true},
    {"shared_cpu_pull.us_per_byte", CostKind::SharedCpuPull, &LinkCost::us_per_byte, true},
    {"tcp.latency_us", CostKind::TcpInHost, &LinkCost::latency_us, true},
    {"tcp.us_per_byte", CostKind::TcpInHost, &LinkCost::us_per_byte, true},
    {"tcp.us_per_message", CostKind::TcpInHost, &LinkCost::us_per_message, true},
    {"tcp.us_per_folded_byte", CostKind::TcpInHost, &LinkCost::us_per_folded_byte, true},
    {"tcp.us_per_cold_byte", CostKind::TcpInHost, &LinkCost::us_per_cold_byte, true},
};

template <class Row, size_t kRows, class Key>
constexpr bool in_order(const Row (&rows)[kRows], Key Row::*key) {
  for (size_t i = 0; i < kRows; ++i)
    if (static_cast<size_t>(rows[i].*key) != i) return false;
  return true;
}
static_assert(in_order(kCosts, &CostRow::kind) && in_order(kThresholds, &ThresholdRow::key) &&
              in_order(kFactors, &FactorRow::key));

}  // namespace

std::span<const CostRow> cost_rows() { return kCosts; }

CostTable::CostTable() {
  for (const CostRow& row : kCosts) (*this)[row.kind] = row.cost;
}

std::span<const HostFigure, kHostFigures> host_figures() { return kHostRows; }

bool is_cost(double value) {
  constexpr double kMaxCost = 1e15;
  return value >= 0 && value <= kMaxCost;
}

HostCosts host_costs(const CostTable& table) {
  HostCosts costs;
  for (size_t i = 0; i < kHostFigures; ++i) costs[i] = kHostRows[i].of(table);
  return costs;
}

CostTable cost_table(const HostCosts& costs) {
  CostTable table;
  for (size_t i = 0; i < kHostFigures; ++i) kHostRows[i].of(table) = costs[i];
  return table;
}

HostCosts slower_of(const HostCosts& one, const HostCosts& other) {
  HostCosts slower;
  for (size_t i = 0; i < kHostFigures; ++i)
    slower[i] = kHostRows[i].more_is_slower ? std::max(one[i], other[i]) : std::min(one[i], other[i]);
  return slower;
}

std::span<const ThresholdRow> threshold_rows() { return kThresholds; }
size_t bytes_of(Threshold threshold) { return kThresholds[static_cast<size_t>(threshold)].value; }

std::span<const FactorRow> factor_rows() { return kFactors; }
int value_of(Factor factor) { return kFactors[static_cast<size_t>(factor)].value; }

}  // namespace rondo
