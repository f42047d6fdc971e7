// Algorithm: one row of the table of collective algorithms.
//
// Adding one is a file in runtime/algorithms/ and a line in table.cc: the verifier, the simulator, the
// executors' tests and the benchmark iterate the table. Rows are pure functions: any thread.
#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "base/association.h"
#include "base/status.h"
#include "schedule/schedule.h"

namespace rondo {

/// What a rank does for a call; one vector is the longer of a rank's input and output.
struct Work {
  double volume = 0;    // vectors that it sends
  double messages = 0;  // that it sends
  double folds = 0;     // vectors that it adds to others
  double warm = 0;      // of volume, what is in its caches when it is sent
};

/// What an algorithm costs a call, in the usual model: rounds * latency + messages * overhead + volume *
/// (time of the whole vector over one link). Both are the busiest rank's, without pipelining between tiles.
struct Cost {
  double rounds = 0;
  double volume = 0;
  /// Where a tile starts before the one ahead of it has ended: the volume through the busiest port, which is
  /// all that a further tile costs. 0: each tile costs as much as the first.
  double steady = 0;
  /// How many messages the busiest rank sends, where a round has more than one; each costs the rank's CPU
  /// something, however fast the link is.
  double messages = 0;
  /// How many vectors the busiest rank adds to others, where the algorithms of a kind differ in that.
  double folds = 0;
  /// How many messages the busiest rank receives, where those are more than any rank sends.
  double received = 0;
  /// Of volume, what a rank sends when it has just received, computed or sent it, so that it comes from the
  /// caches, however long the vector is.
  double warm = 0;
  /// Whether the busiest port only sends, or only receives.
  bool one_way = false;
  /// What the ranks do on average, where many do much less than the busiest, as in a tree: that is what
  /// counts where they share CPUs. Nothing: all are about as busy.
  Work mean = {};
};

/// Of what it costs to send a message, the part that it costs to receive one where many come to a rank: they
/// wait there together, and several are taken at once.
constexpr double kReceiving = 0.125;

/// Of a call, all in one unit: of one transfer of the whole vector, of each message, of a rank's own time,
/// and of adding a whole vector to another.
struct Times {
  double latency = 0;
  double vector = 0;
  double message = 0;
  double fold = 0;
  double one_way = 1;  // of `vector` and `message`: where the port has nothing to do in the other direction
  double cold = 0;     // more of `vector`, where what is sent does not come from the caches
  bool runs_ahead = false;  // a rank that waits for nobody does, and what it sends is kept for its peers
};

/// The time of a call in `tiles` tiles. Where several ranks share a CPU whose work all of this is, it takes
/// as long as the work of them all, but for the latency.
inline double predicted_time(const Cost& cost, const Times& times, double tiles, double ranks_per_cpu = 1) {
  const double messages = std::max({cost.messages, cost.rounds, cost.received * kReceiving});
  const double port = cost.one_way ? times.one_way : 1;
  const double warm = cost.volume > 0 ? cost.warm / cost.volume : 0;
  const auto work = [&](const Work& of) {
    const double vectors = of.volume * times.vector + (of.volume - of.warm) * times.cold;
    return of.messages * times.message + (vectors + of.folds * times.fold) / tiles;
  };
  const auto of_busiest = [&](double volume, double sent) {
    return work({port * volume, port * sent, cost.folds, port * volume * warm});
  };
  const double first = of_busiest(cost.volume, messages);
  const double further = cost.steady > 0 ? of_busiest(cost.steady, 0) : first;
  const double busiest = first + (tiles - 1) * further;
  // Who runs ahead of its peers waits for none of them, but the last of them for all its messages.
  const double turns = times.runs_ahead && cost.one_way ? port * messages : cost.rounds;
  const double waits = turns * times.latency * (cost.steady > 0 ? 1 : tiles);
  if (cost.mean.volume == 0) return waits + busiest * ranks_per_cpu;
  const double shared = tiles * work(cost.mean) * ranks_per_cpu;
  return waits + (shared > busiest ? shared : busiest);
}

struct Algorithm {
  const char* name;
  CollectiveKind kind;
  const char* summary;  // one line: the idea and its source
  bool (*supports)(const Shape& shape);
  Cost (*cost)(const Shape& shape);
  /// Of what goes between ranks of a group (Shape::group), which cost() then leaves out.
  Cost (*near_cost)(const Shape& shape) = [](const Shape&) { return Cost{}; };
  Schedule (*build)(const Shape& shape, int rank);
  /// The most chunks that a Step of any rank moves at once: every Schedule's slot_chunks. All ranks size
  /// their chunks by it.
  int (*most_count)(const Shape& shape) = [](const Shape&) { return 1; };
  /// How many parts it divides a vector into: every Schedule's, of kinds whose chunks are parts.
  int (*parts)(const Shape& shape) = [](const Shape&) { return 1; };
  /// Where every Schedule has that many rounds: in the first all send of their Inputs and then receive, in
  /// the second, if there is one, they do so with a chunk of their Outputs. 0: it is not of that kind.
  int rounds = 0;
  /// How it combines operands, where the kind does: the same for every shape that it supports, part of the
  /// vector and rank. What reproducible mode goes by; a test has it proved, and that no more is true.
  Association association = Association::Any;
  /// Only for ranks in groups (Shape::group).
  bool for_groups = false;
  /// Not chosen where ranks do not all see the same memory, unless it is asked for.
  bool for_shared_memory = false;
};

/// All algorithms; those of one collective lie together.
std::span<const Algorithm> algorithms();

/// The row of that collective and name; InvalidArgument that lists the names where there is none.
Result<const Algorithm*> algorithm_by_name(CollectiveKind kind, std::string_view name);

}  // namespace rondo
