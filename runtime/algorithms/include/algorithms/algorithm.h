// SPDX-License-Identifier: Apache-2.0
// Algorithm: one row of the table of collective algorithms.
//
// Adding one takes a file in runtime/algorithms/ and a line in its meson.build: the verifier, the simulator,
// the executors' tests and the benchmark iterate over the table. Rows are pure functions: any thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "base/reduction.h"
#include "base/status.h"
#include "schedule/schedule.h"

namespace rondo {

/// A rank's work in a call; one vector is the longer of a rank's input and output.
struct CpuWork {
  double volume = 0;    // vectors that it sends
  double messages = 0;  // that it sends
  double folds = 0;     // vectors that it adds to others
  double warm = 0;      // the part of `volume` that is in its caches when sent
};

/// The cost of a call in the usual model: rounds * latency + messages * overhead + volume * (time of the
/// whole vector over one link). All are the busiest rank's, without pipelining between tiles.
struct Cost {
  double rounds = 0;
  double volume = 0;
  /// If tiles overlap: the volume through the busiest port, which is all that a further tile costs. 0: each
  /// tile costs as much as the first.
  double steady = 0;
  /// The messages that the busiest rank sends, if a round has more than one; each costs the rank some CPU
  /// time, however fast the link is.
  double messages = 0;
  /// The vectors that the busiest rank adds to others, if the algorithms of a kind differ in that.
  double folds = 0;
  /// The messages that the busiest rank receives, if more than any rank sends.
  double received = 0;
  /// The part of `volume` that a rank has just received, computed or sent when it sends it, so that it comes
  /// from the caches, however long the vector is.
  double warm = 0;
  /// Whether the busiest port only sends, or only receives.
  bool one_way = false;
  /// The average work of a rank, if many do much less than the busiest, as in a tree: relevant if ranks share
  /// CPUs. Zero: all are about equally busy.
  CpuWork mean = {};
};

/// The cost of receiving a message relative to sending one, if many arrive at a rank: they queue there, and
/// several are taken at once.
constexpr double kReceiving = 0.125;

/// Times, all in one unit: the latency of a round, and a rank's time to transfer a whole vector, per message,
/// and to add a whole vector to another.
struct Times {
  double latency = 0;
  double vector = 0;
  double message = 0;
  double fold = 0;
  double one_way = 1;       // factor on `vector` and `message` if the port is idle in the other direction
  double cold = 0;          // added to `vector` if the data sent is not in the caches
  bool runs_ahead = false;  // a rank that need not wait runs ahead; its messages are kept for its peers
};

/// What a predicted time is the sum of.
struct TimeTerms {
  double latency = 0;   // of rounds
  double messages = 0;  // overhead
  double vectors = 0;   // transfer
  double cold = 0;      // added because data is not in the caches
  double folds = 0;

  double sum() const { return latency + (messages + vectors + cold + folds); }
  TimeTerms operator+(const TimeTerms& other) const {
    return {latency + other.latency, messages + other.messages, vectors + other.vectors, cold + other.cold,
            folds + other.folds};
  }
  TimeTerms operator*(double factor) const {
    return {latency * factor, messages * factor, vectors * factor, cold * factor, folds * factor};
  }
};

/// The time of a call in `tiles` tiles. If several ranks share a CPU that does all this work, it takes the
/// sum of their work, apart from the latency.
inline TimeTerms predicted_terms(const Cost& cost, const Times& times, double tiles,
                                 double ranks_per_cpu = 1) {
  const double messages = std::max({cost.messages, cost.rounds, cost.received * kReceiving});
  const double port = cost.one_way ? times.one_way : 1;
  const double warm = cost.volume > 0 ? cost.warm / cost.volume : 0;
  const auto work = [&](const CpuWork& of) {
    return TimeTerms{.messages = of.messages * times.message,
                     .vectors = of.volume * times.vector / tiles,
                     .cold = (of.volume - of.warm) * times.cold / tiles,
                     .folds = of.folds * times.fold / tiles};
  };
  const auto of_busiest = [&](double volume, double sent) {
    return work({port * volume, port * sent, cost.folds, port * volume * warm});
  };
  const TimeTerms first = of_busiest(cost.volume, messages);
  const TimeTerms further = cost.steady > 0 ? of_busiest(cost.steady, 0) : first;
  const TimeTerms busiest = first + further * (tiles - 1);
  // A rank that runs ahead waits for no peer, but its last peer waits for all its messages.
  const double turns = times.runs_ahead && cost.one_way ? port * messages : cost.rounds;
  const TimeTerms waits{.latency = turns * times.latency * (cost.steady > 0 ? 1 : tiles)};
  if (cost.mean.volume == 0) return waits + busiest * ranks_per_cpu;
  const TimeTerms shared = work(cost.mean) * (tiles * ranks_per_cpu);
  return waits + (shared.sum() > busiest.sum() ? shared : busiest);
}

inline double predicted_time(const Cost& cost, const Times& times, double tiles, double ranks_per_cpu = 1) {
  return predicted_terms(cost, times, tiles, ranks_per_cpu).sum();
}

/// The lanes of a plan that was made for a machine, and the blocks that a call gives a GPU to run unless the
/// user asks for more channels: computation needs the other multiprocessors.
inline constexpr int kMaxPlanLanes = 32;

struct Algorithm {
  const char* name;
  CollectiveKind kind;
  const char* summary;  // one line: the idea and its source
  std::function<bool(const Shape& shape)> supports;
  std::function<Cost(const Shape& shape)> cost;
  /// Whether cost() may be off, by at most a round and a third of the volume, because transfers overlap
  /// unevenly: if the number of ranks is no power of the radix, or the root is not the first rank.
  bool cost_is_estimate = false;
  /// The cost of traffic within groups of a level of Shape::levels, between those of the level below, which
  /// cost() then leaves out.
  std::function<Cost(const Shape& shape, int level)> inner_cost = [](const Shape&, int) { return Cost{}; };
  std::function<Schedule(const Shape& shape, int rank)> build;
  /// The maximum number of chunks that a Step of any rank moves at once: every Schedule's slot_chunks. All
  /// ranks size their chunks by it.
  std::function<int(const Shape& shape)> max_count = [](const Shape&) { return 1; };
  /// The number of parts of a block in every Schedule.
  std::function<int(const Shape& shape)> parts = [](const Shape&) { return 1; };
  /// The rounds of every Schedule's pull form (pull_plan.h): in the first all ranks send from their Inputs
  /// and then receive; in the second, if any, they repeat that with a chunk of their Outputs. 0: no pull
  /// form.
  int rounds = 0;
  /// How it combines operands, if the kind does: the same for every supported shape, part of the vector and
  /// rank. Reproducible mode relies on it; a test proves it, and that no stronger association holds.
  Association association = Association::Any;
  /// Only for ranks in groups (Shape::levels). A row of the table builds for groups of consecutive ranks, and
  /// is relabelled for others: see follows_order().
  bool for_groups = false;
  /// Whether the ranks at each place of the groups carry between them what Shape::weights says; if not, as if
  /// it were empty. Requires that the row supports the shape.
  std::function<bool(const Shape& shape)> has_shares = [](const Shape&) { return false; };
  /// Chosen only if all ranks share memory, unless it is requested.
  bool for_shared_memory = false;
  /// Whether a rank connects with all others, or with one in each group, as n grows. The other rows connect
  /// it with at most 2 log2 m + 2 others, or of other groups if they have for_groups, of m ranks or groups
  /// of the last level; the all-to-alls have no choice.
  bool connects_all = false;
  /// Whether it connects a rank with about 2 log2 n others, such as those at distances of 1, 2, 4 ... both up
  /// and down, instead of log2 n: more than 2 log2 m + 2 of them may be on other hosts, if there are m.
  bool connects_up_and_down = false;
  /// Slots that every connection needs.
  int slots = 1;
  /// Whether it also serves calls in place. The table's rows do.
  bool in_place = true;
  /// Of a row that is not in the table: a hash of its Schedules, by which ranks compare their plans.
  uint64_t content = 0;
};

/// Whether the ranks form several groups: equal ones by levels, or hosts of different sizes, which calls with
/// blocks cannot use. If the ranks of a group are not consecutive, the call must allow operands in any order.
bool has_groups(const Shape& shape);

/// All algorithms; those of one collective are contiguous.
std::span<const Algorithm> algorithms();

/// The row of that collective and name; if there is none, InvalidArgument that lists the names.
Result<const Algorithm*> algorithm_by_name(CollectiveKind kind, std::string_view name);

/// Whether a row of the table builds for the ranks in Shape::order, so that close ranks are neighbours.
/// Requires that the row supports the shape. Rows without groups do if they may be relabelled, connect some
/// ranks and not all, and state nothing about the order of operands.
bool follows_order(const Algorithm& algorithm, const Shape& shape);

/// Whether ranks are put in the order of their places on the host: nothing is combined, so results are those
/// of any other order.
constexpr bool is_free_in_order(CollectiveKind kind) { return kind == CollectiveKind::Broadcast; }

/// The Schedule of `rank`; order[p] is the rank in place p. Requires may_relabel().
Schedule build_in_order(const Algorithm& algorithm, const Shape& shape, int rank, std::span<const int> order);

}  // namespace rondo
