// SPDX-License-Identifier: Apache-2.0
// The figures from which algorithms, executors and protocols are chosen: what messages cost, by the way that
// they take, the lengths up to which something is used, and other figures; each with its source. Plain data,
// the same at all ranks.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace rondo {

/// What messages cost: not a promise.
struct LinkCost {
  double latency_us = 1;
  double us_per_byte = 2e-4;
  double us_per_message = 0;      // CPU time of the sender or receiver
  double us_per_folded_byte = 0;  // CPU time of the rank that reduces it; 0: included in us_per_byte
  double one_way = 1;  // factor on us_per_byte and us_per_message if a rank does not send and receive at once
  double ranks_per_cpu = 1;        // if everything except latency is work of CPUs that ranks share
  double us_per_cold_byte = 0;     // added for a byte that is not in the caches
  double cached_bytes = 0;         // of all ranks' vectors together; the rest is cold
  double us_per_evicted_byte = 0;  // added for a byte that leaves the caches before it is received
  double slot_cache_bytes = 0;     // of all connections' slots together; what is beyond is evicted
  bool runs_ahead = false;         // messages are buffered for peers that do not wait for them yet
};

/// A way that messages take.
enum class CostKind {
  SharedMemory,   // through a connection's slots, each rank on a CPU of its own
  Turn,           // latency_us: until a rank that shares its CPU with others has run
  Pull,           // read from what each rank posts in memory that all see; latency_us: of a round
  SharedCpuPull,  // the same if ranks share CPUs; latency_us: of each rank in a round
  TcpInHost,      // each rank on a CPU of its own
  TcpBetweenHosts,
  Verbs,  // us_per_byte: of a port of 1 Gbit/s
  Plugin,
  // Between GPUs of a host whose links are known, which say what else a byte costs:
  DeviceBlock,  // messages of the executor on GPUs; us_per_byte: by one block
  StagedStep,   // latency_us: until streams of other processes go on
};
inline constexpr size_t kCostKinds = static_cast<size_t>(CostKind::StagedStep) + 1;

struct CostRow {
  CostKind kind;
  const char* name;
  LinkCost cost;
  const char* source;
  const char* date;
};
/// What is built in, in the order of CostKind.
std::span<const CostRow> cost_rows();

/// What messages cost by each way: what is built in, or for ways within a host what was measured there.
class CostTable {
 public:
  CostTable();
  const LinkCost& operator[](CostKind kind) const { return costs_[static_cast<size_t>(kind)]; }
  LinkCost& operator[](CostKind kind) { return costs_[static_cast<size_t>(kind)]; }

 private:
  std::array<LinkCost, kCostKinds> costs_;
};

/// A figure of a way within a host, which is measured there (rondo-topo --calibrate).
struct HostFigure {
  const char* name;
  CostKind kind;
  double LinkCost::*value;
  bool more_is_slower;

  double& of(CostTable& table) const { return table[kind].*value; }
  double of(const CostTable& table) const { return table[kind].*value; }
};
inline constexpr size_t kHostFigures = 16;
std::span<const HostFigure, kHostFigures> host_figures();

/// Whether a figure of a HostCosts can have this value: finite, and not negative.
bool is_cost(double value);

/// Values of host_figures().
using HostCosts = std::array<double, kHostFigures>;
HostCosts host_costs(const CostTable& table);
/// What is built in but for these.
CostTable cost_table(const HostCosts& costs);
/// Each figure of the host where it is slower.
HostCosts slower_of(const HostCosts& one, const HostCosts& other);

/// A length, in bytes, at which the choice changes.
enum class Threshold {
  PulledVector,    // the longest vector that is pulled, each rank on a CPU of its own
  PulledBlocks,    // the same if it is of blocks that are only copied
  PulledExchange,  // the longest message that is pulled where two ranks send each other one and lines move
  SharedCpuPull,   // as PulledVector if ranks share CPUs
  SharedCpuPartsPull,  // the same if each peer reads a different part of it, and of a scan
  OneStepVector,  // of GPUs in several processes: an all_reduce that is this long or longer takes two steps
  LLMessage,      // the longest message, and vector, by each of the line protocols
  LLVector,
  LL128Message,
  LL128Vector,
  ChannelMessage,  // messages are not made shorter than this to give every channel work
};

/// A figure that is no LinkCost.
template <class Key, class Value>
struct FigureRow {
  Key key;
  const char* name;
  Value value;
  const char* source;
  const char* date;
};

using ThresholdRow = FigureRow<Threshold, size_t>;
/// In the order of Threshold.
std::span<const ThresholdRow> threshold_rows();
size_t bytes_of(Threshold threshold);

/// A number without a unit.
enum class Factor {
  FartherLink,     // how much slower than within a cache, or memory node, messages between two are
  DeviceChannels,  // parts of a call on GPU memory that run at the same time, unless told otherwise
};

using FactorRow = FigureRow<Factor, int>;
/// In the order of Factor.
std::span<const FactorRow> factor_rows();
int value_of(Factor factor);

}  // namespace rondo
