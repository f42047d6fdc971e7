// SPDX-License-Identifier: Apache-2.0
#include "doubling_scan.h"

namespace rondo {

void add_doubling_scan(Schedule& schedule, int first, const Move& start, Ref operand) {
  const int rank = schedule.rank;
  Move move = start;
  int distance = 1;
  for (; distance <= rank - first; distance *= 2) {
    if (rank + distance < schedule.nranks) move.send = {rank + distance};
    const bool does_something = !move.recv.empty() || !move.send.empty() || move.dst.buffer != Buffer::None;
    if (does_something) schedule.add(move);
    move = {.recv = {rank - distance, rank}, .src = operand, .dst = output(0)};
    operand = output(0);
  }
  // The prefix is complete: send it to all ranks that still need it.
  move.dst = output(0);
  for (; rank + distance < schedule.nranks; distance *= 2) move.send.push_back(rank + distance);
  schedule.add(move);
}

}  // namespace rondo
