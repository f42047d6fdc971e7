// SPDX-License-Identifier: Apache-2.0
// Cuts of a network: a set S of its nodes, and the capacity of the edges that leave S. Internal to the bound;
// one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "limit/flow_network.h"
#include "limit/rational.h"

namespace rondo {

struct CutEdge {
  int from = 0;
  int to = 0;
  int64_t kBps = 0;
};

struct CutNetwork {
  int nodes = 0;
  std::vector<CutEdge> edges;
  std::vector<int> gpus;   // nodes
  std::vector<int> hosts;  // by node: the hosts of the GPUs, numbered from 0; -1: another host, or none
  std::vector<int> hosts_without_nics;  // the same, but -1 for NICs
};

/// The edges turned around.
CutNetwork reversed(CutNetwork network);

using NodeSet = std::vector<bool>;  // by node

/// What S is, or what is left outside.
enum class CutShape : uint8_t { OutOfGpu, IntoGpu, OutOfHost, IntoHost, Other };

struct RatioCut {
  Rational ratio;  // capacity / weight
  NodeSet inside;  // S
  CutShape shape = CutShape::Other;
  int alike = 1;  // cuts of that shape with that ratio
};

/// The same cut of the network whose edges are turned around.
RatioCut reversed(RatioCut cut);

/// What a cut's capacity is divided by; 0: S cuts nothing.
using CutWeight = std::function<int64_t(const NodeSet&)>;

/// The lowest ratio among the cuts that separate one GPU, or one host with its NICs or without, from all
/// other nodes.
RatioCut lowest_simple_cut(const CutNetwork& network, const CutWeight& weight);

/// The lowest capacity / |S and sources| among all S that hold a source and leave a sink outside.
RatioCut lowest_ratio_cut(const CutNetwork& network, std::span<const int> sources,
                          std::span<const int> sinks);

/// Minimum cuts between GPUs.
class GpuFlow {
 public:
  explicit GpuFlow(const CutNetwork& network);

  /// The maximum flow from the GPUs in `sources` to those in `sinks`, or `enough` if it is at least that.
  int64_t capacity(const NodeSet& sources, const NodeSet& sinks, int64_t enough = FlowNetwork::kUnlimited);
  /// Of the latest one, if it did not end at `enough`: the minimum cut whose S has the fewest nodes.
  NodeSet source_side() const;

 private:
  const CutNetwork& network_;
  FlowNetwork flows_;
  std::vector<int> first_, last_;  // edges from the source to a GPU, from the GPU to the sink
};

}  // namespace rondo
