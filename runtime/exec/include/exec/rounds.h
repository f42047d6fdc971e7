// Rounds: what a rank does in a Schedule in which all ranks first send of their Inputs and then receive, and
// perhaps do so once more, each with a chunk of its Output. Where ranks can read what the others would send
// there is nothing to send: it is enough to know what to read. Plain data, made once a plan.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace rondo {

struct Round {
  /// A chunk of what a rank posts.
  struct Source {
    int rank = 0;
    int chunk = 0;
  };
  /// Output chunk `dst` is the fold of the sources, in their order.
  struct Read {
    int dst = 0;
    std::vector<Source> sources;
    bool finish = false;
  };
  bool posts = false;   // others read what this rank has: in the first round its Input
  int posted = 0;       // in the second: which chunk of its Output
  bool mutual = false;  // every rank hears from every other
  std::vector<Read> reads;
};

struct Rounds {
  Chunks chunks{1, 1};
  std::vector<Round> all;
};

/// `own`: one of a collective's that has rounds.
Rounds rounds_of(CollectiveKind kind, const Schedule& own);

/// How many it has; 0 where it has another form: several lanes, Steps of several chunks, or such as send what
/// they receive, or another rank's chunk than that of the one it is for, or of the sender in the second
/// round.
int count_rounds(const Schedule& schedule);

}  // namespace rondo
