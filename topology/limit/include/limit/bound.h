// SPDX-License-Identifier: Apache-2.0
// The bound: the bus bandwidth that no plan for a collective exceeds on a graph of links, exactly, and the
// links that it is due to. Pure functions: any thread.
//
// S is a set of nodes that holds some of the n GPUs and leaves others outside; b(S) is the bandwidth of the
// links that leave S. What the GPUs outside need of those in S has to leave S. Hence x, and the bus bandwidth
// as nccl-tests defines it:
//
//   collective      x                                                                        bus bandwidth
//   all_gather      of a block at each GPU that reaches all: min b(S) / |GPUs in S|               (n - 1) x
//   reduce_scatter  as all_gather with the links turned around                                    (n - 1) x
//   all_reduce      reduce_scatter, then all_gather: the harmonic mean of their x                 (n - 1) x
//   broadcast       of a vector that reaches all: min b(S), root in S                             x
//   reduce          as broadcast with the links turned around                                     x
//   gather          of a block at each GPU: min b(S) / |GPUs in S|, root outside                  (n - 1) x
//   scatter         as gather with the links turned around                                        (n - 1) x
//   all_to_all      of a block for each pair: min b(S) / (|GPUs in S| |GPUs outside|)             (n - 1) x
//   scan, exscan    of a vector from each rank to the next: min b(S), rank in S, next outside     x
//
// Plans reach the bounds of all_gather, reduce_scatter, broadcast and reduce by trees (J. Edmonds,
// "Edge-disjoint branchings", 1973; with switches: L. Zhao et al., "ForestColl", arXiv 2402.06787), those of
// gather and scatter by a flow.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/collective.h"
#include "graph/topology_graph.h"
#include "limit/rational.h"

namespace rondo {

enum class BoundKind : uint8_t {
  /// Plans reach it; none exceeds it.
  Exact,
  /// Plans reach it; those with other shares may exceed it, up to `ceiling`. If switches do not send as much
  /// as they receive, links on the wider side have equal shares of the narrower (see trim_switches()). In
  /// all_reduce every GPU combines a block of its own, of equal size, though some have less bandwidth.
  EqualShares,
  /// Whether plans reach it is not known: of all_to_all and scans the exact limit is a linear program, and
  /// with links that go one way only equal shares may leave nothing. No plan exceeds `ceiling`. For
  /// all_to_all cuts are tried, all of them up to 12 GPUs.
  Cuts,
};

struct BandwidthBound {
  Rational x;        // kB/s; of all_reduce rounded up to a whole number if 64 bits do not hold the fraction
  Rational bus;      // bus bandwidth in kB/s, likewise
  Rational ceiling;  // bus bandwidth that no plan exceeds; equal to `bus` if Exact
  BoundKind kind = BoundKind::Exact;

  /// The cut: the GPUs in S, in the order given, and the links of the graph that leave S, ascending. Of
  /// all_reduce that of the slower phase. If x is 0, nothing leads from the GPUs in S to the others.
  std::vector<int> gpus_inside;
  std::vector<int> links;
  /// The same in words: "6 NVLinks into gpu0, 120.0 GB/s, as for each of 8 GPUs".
  std::string limit;
};

/// The bound for a collective of `gpus`, nodes of the graph in the order of their ranks. `root` is a rank,
/// for collectives that have one. Other GPUs forward nothing. InvalidArgument if there are fewer than two
/// GPUs or nothing is moved (barrier), and if the bandwidths of all links, times the GPUs, add up to 2^61
/// kB/s.
Result<BandwidthBound> bandwidth_bound(const TopologyGraph& graph, std::span<const int> gpus,
                                       CollectiveKind collective, int root = 0);

/// The bound if switches could copy what they pass on and combine what meets in them, as NVSwitches with
/// NVLink SHARP do for GPUs joined to them. A model that has not been compared with hardware. It assumes that
/// all nodes copy and combine at the speed of their links, and that all_reduce reduces and broadcasts at the
/// same time: a GPU sends its vector once and receives the result once, so bus = 2 (n - 1) / n * min b(S)
/// (x is then 2 / n * min b(S)). For the other collectives it is the bound by cuts of links as they are.
/// Unsupported if there is no NVSwitch.
Result<BandwidthBound> in_network_bound(const TopologyGraph& graph, std::span<const int> gpus,
                                        CollectiveKind collective, int root = 0);

/// The graph with NVLink or xGMI links alone if they lead from every one of the GPUs to every other;
/// otherwise with all its links.
TopologyGraph fabric_or_all(const TopologyGraph& graph, std::span<const int> gpus);

}  // namespace rondo
