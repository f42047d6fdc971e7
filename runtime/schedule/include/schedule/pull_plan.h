// SPDX-License-Identifier: Apache-2.0
// PullPlan: the pull form of a Schedule in which all ranks first send chunks of their Inputs and then
// receive, and perhaps repeat that, each with a chunk of its Output. If ranks can read each other's memory,
// nothing needs to be sent: each rank only needs to know what to read. Plain data, built once per plan.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace rondo {

struct PullRound {
  /// A chunk of the data that a rank posts.
  struct Source {
    int rank = 0;
    int chunk = 0;
  };
  /// Output chunk `dst` is the fold of the sources, in that order.
  struct Gather {
    int dst = 0;
    std::vector<Source> sources;
    bool finish = false;
  };
  bool posts = false;   // others read this rank's data: in the first round, its Input
  int posted = 0;       // in the second round: the chunk of its Output that they read
  bool mutual = false;  // all-to-all: every rank hears from every other
  std::vector<Gather> reads;
};

struct PullPlan {
  Chunks chunks{1, 1};
  std::vector<PullRound> all;
};

/// `own`: a Schedule for which count_rounds() is not 0.
PullPlan pull_plan_of(CollectiveKind kind, const Schedule& own);

/// The number of rounds; 0 if the Schedule has no pull form: several lanes, Steps of several chunks, or Steps
/// that forward what they receive or send a chunk other than the receiver's (second round: the sender's).
int count_rounds(const Schedule& schedule);

}  // namespace rondo
