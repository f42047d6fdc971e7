// SPDX-License-Identifier: Apache-2.0
// The contents of one rank's buffers before and after a collective call, element by element: the definition
// that results are checked against. Pure functions: any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "collective.h"

namespace rondo::perf {

/// A range of a buffer and the source of its contents.
struct DataPiece {
  enum class From {
    Untouched,  // unchanged since before the call
    Input,      // the send buffer of rank `first`, from its element `index`
    Reduced     // the reduction of ranks first to last, from element `index` of their send buffers
  };
  From from = From::Untouched;
  size_t offset = 0;  // elements into the buffer
  size_t count = 0;
  size_t index = 0;
  int first = 0;
  int last = 0;
};

/// One rank's side of a call. Offsets and counts are in elements.
struct DataLayout {
  size_t count = 0;        // the call's count argument (the mean block if lengths vary)
  size_t send_extent = 0;  // elements from the start of the send buffer to its end
  size_t recv_extent = 0;
  std::vector<DataPiece> send;    // the rank's input
  std::vector<DataPiece> expect;  // the expected receive buffer, out of place
  std::vector<DataPiece> expect_in_place;
  size_t in_place_send = 0;  // in place: offsets of the two buffers in the one that holds both
  size_t in_place_recv = 0;
  // For the forms with a length per rank; empty otherwise.
  std::vector<size_t> send_counts, send_displs, recv_counts, recv_displs;
};

struct DataShape {
  Collective collective = Collective::AllReduce;
  int nranks = 1;
  int rank = 0;
  int root = 0;
  size_t count = 0;
  bool varying = false;  // block lengths from 0 to twice the count, with gaps, in reverse order
  bool one_way = false;  // send_recv: even ranks send to the next one, which receives
};

constexpr bool receives_one_way(int rank) { return rank % 2 == 1; }
constexpr bool sends_one_way(int rank, int nranks) { return rank % 2 == 0 && rank + 1 < nranks; }

DataLayout make_layout(const DataShape& shape);

}  // namespace rondo::perf
