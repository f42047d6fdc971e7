// What one rank's buffers hold before and after a call of a collective, element by element: the definition
// that results are checked against. Pure functions: any thread.
#pragma once

#include <cstddef>
#include <vector>

#include "collective.h"

namespace rondo::perf {

/// A stretch of a buffer and where its contents come from.
struct Piece {
  enum class From {
    Untouched,  // nobody: it still holds what was there before the call
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
struct Layout {
  size_t count = 0;        // the call's count argument (the mean block where lengths vary)
  size_t send_extent = 0;  // elements from the start of the send buffer to its end
  size_t recv_extent = 0;
  std::vector<Piece> send;    // what the rank puts in
  std::vector<Piece> expect;  // what it must find in the receive buffer, out of place
  std::vector<Piece> expect_in_place;
  size_t in_place_send = 0;  // in place: where the two buffers start in the one that holds both
  size_t in_place_recv = 0;
  // The forms with a length for each rank; empty otherwise.
  std::vector<size_t> send_counts, send_displs, recv_counts, recv_displs;
};

struct Shape {
  Collective collective = Collective::AllReduce;
  int nranks = 1;
  int rank = 0;
  int root = 0;
  size_t count = 0;
  bool varying = false;  // block lengths from 0 to twice the count, with gaps, in reverse order
};

Layout make_layout(const Shape& shape);

}  // namespace rondo::perf
