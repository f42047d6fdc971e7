// OneRound: what a rank does in a Schedule in which all ranks send from their Input before they receive.
// Where each can read the others' Input there is nothing to send: it is enough to know what to read. Plain
// data, made once a plan.
#pragma once

#include <vector>

#include "schedule/schedule.h"

namespace rondo {

struct OneRound {
  /// A chunk of a rank's Input.
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
  Chunks chunks{1, 1};
  bool posts = false;   // others read the own Input
  bool mutual = false;  // every rank hears from every other
  std::vector<Read> reads;
};

/// `build`: an algorithm's, whose every Schedule of this shape has one round.
OneRound one_round(const Shape& shape, int rank, Schedule (*build)(const Shape& shape, int rank));

/// Whether it has: one lane, Steps of one chunk, and nothing sent but Input.
bool has_one_round(const Schedule& schedule);

}  // namespace rondo
