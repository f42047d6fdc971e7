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

/// What an algorithm costs a call, in the usual model: rounds * latency + messages * overhead + volume *
/// (time of the whole vector over one link). The vector is the longer of a rank's input and output. Both are
/// the busiest rank's, without pipelining between tiles.
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
};

/// Of what it costs to send a message, the part that it costs to receive one where many come to a rank: they
/// wait there together, and several are taken at once.
constexpr double kReceiving = 0.125;

/// The time of a call in `tiles` tiles, where one transfer of the whole vector takes `vector_time`, and each
/// message `overhead` of a rank's own time, and adding a whole vector to another `fold_time`; in the unit of
/// the four times.
inline double predicted_time(const Cost& cost, double latency, double vector_time, double tiles,
                             double overhead = 0, double fold_time = 0) {
  const double messages = std::max({cost.messages, cost.rounds, cost.received * kReceiving});
  const double first = cost.rounds * latency + messages * overhead +
                       (cost.volume * vector_time + cost.folds * fold_time) / tiles;
  const double further =
      cost.steady > 0 ? (cost.steady * vector_time + cost.folds * fold_time) / tiles : first;
  return first + (tiles - 1) * further;
}

struct Algorithm {
  const char* name;
  CollectiveKind kind;
  const char* summary;  // one line: the idea and its source
  bool (*supports)(const Shape& shape);
  Cost (*cost)(const Shape& shape);
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
  /// Not chosen where ranks do not all see the same memory, unless it is asked for.
  bool for_shared_memory = false;
};

/// All algorithms; those of one collective lie together.
std::span<const Algorithm> algorithms();

/// The row of that collective and name; InvalidArgument that lists the names where there is none.
Result<const Algorithm*> algorithm_by_name(CollectiveKind kind, std::string_view name);

}  // namespace rondo
