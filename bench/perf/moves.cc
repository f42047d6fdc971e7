// SPDX-License-Identifier: Apache-2.0
#include "moves.h"

#include <algorithm>

namespace rondo::perf {
namespace {

struct Stretch {
  size_t first = 0;
  size_t end = 0;
};

// The number of elements in the union of the stretches.
size_t covered(std::vector<Stretch> stretches) {
  std::sort(stretches.begin(), stretches.end(),
            [](const Stretch& a, const Stretch& b) { return a.first < b.first; });
  size_t count = 0, end = 0;
  for (const Stretch& one : stretches) {
    if (one.end > end) count += one.end - std::max(end, one.first);
    end = std::max(end, one.end);
  }
  return count;
}

// In place, a rank's own data are already where its result belongs.
bool there_already(const DataPiece& piece, int rank, bool in_place) {
  return piece.from == DataPiece::From::Untouched || (in_place && piece.first == rank && piece.last == rank);
}

}  // namespace

std::vector<Moved> least_moved(DataShape shape, bool in_place) {
  const auto ranks = static_cast<size_t>(shape.nranks);
  std::vector<Moved> moved(ranks);
  std::vector<std::vector<Stretch>> wanted(ranks);  // of each rank's input
  for (shape.rank = 0; shape.rank < shape.nranks; ++shape.rank) {
    const DataLayout layout = make_layout(shape);
    for (const DataPiece& piece : in_place ? layout.expect_in_place : layout.expect) {
      if (there_already(piece, shape.rank, in_place)) continue;
      moved[static_cast<size_t>(shape.rank)].written += piece.count;
      for (int from = piece.first; from <= piece.last; ++from)
        wanted[static_cast<size_t>(from)].push_back({piece.index, piece.index + piece.count});
    }
  }
  for (size_t rank = 0; rank < ranks; ++rank) moved[rank].read = covered(std::move(wanted[rank]));
  return moved;
}

}  // namespace rondo::perf
