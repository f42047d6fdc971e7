// SPDX-License-Identifier: Apache-2.0
// The expectations of a collective's ranks are consistent with one another.
#include "catch.h"
#include "layout.h"

namespace {

using namespace rondo::perf;

std::vector<DataShape> shapes() {
  std::vector<DataShape> all;
  for (const CollectiveInfo& info : all_collectives()) {
    for (const int nranks : {1, 2, 3, 5, 8}) {
      for (int root = 0; root < (traits(info.id).has_root() ? nranks : 1); ++root) {
        for (const bool varying : {false, true}) {
          if (varying && !traits(info.id).has_blocks()) continue;
          all.push_back({info.id, nranks, 0, root, 12, varying});
        }
      }
    }
  }
  return all;
}

// Every piece is within its buffer, and no two overlap.
void require_disjoint(const std::vector<DataPiece>& pieces, size_t extent) {
  std::vector<int> used(extent);
  for (const DataPiece& piece : pieces) {
    REQUIRE(piece.offset + piece.count <= extent);
    for (size_t i = piece.offset; i < piece.offset + piece.count; ++i) REQUIRE(used[i]++ == 0);
  }
}

}  // namespace

TEST_CASE("Pieces are within their buffers and do not overlap") {
  for (DataShape shape : shapes()) {
    for (shape.rank = 0; shape.rank < shape.nranks; ++shape.rank) {
      const DataLayout layout = make_layout(shape);
      CAPTURE(collective_info(shape.collective).name, shape.nranks, shape.rank, shape.varying);
      require_disjoint(layout.send, layout.send_extent);
      require_disjoint(layout.expect, layout.recv_extent);
      const size_t both = std::max(layout.send_extent, layout.recv_extent);
      REQUIRE(layout.in_place_send + layout.send_extent <= both);
      REQUIRE(layout.in_place_recv + layout.recv_extent <= both);
    }
  }
}

TEST_CASE("Data expected from a rank is within what that rank sends") {
  for (DataShape shape : shapes()) {
    for (shape.rank = 0; shape.rank < shape.nranks; ++shape.rank) {
      for (const DataPiece& piece : make_layout(shape).expect) {
        if (piece.from == DataPiece::From::Untouched) continue;
        for (int source = piece.first; source <= piece.last; ++source) {
          DataShape theirs = shape;
          theirs.rank = source;
          CAPTURE(collective_info(shape.collective).name, shape.nranks, shape.rank, source, shape.varying);
          REQUIRE(piece.index + piece.count <= make_layout(theirs).send_extent);
        }
      }
    }
  }
}

TEST_CASE("Lengths of all_to_all agree at both ends, and vary") {
  for (const int nranks : {2, 3, 5, 8}) {
    size_t least = 1000, most = 0;
    for (int from = 0; from < nranks; ++from) {
      for (int to = 0; to < nranks; ++to) {
        const DataLayout sender = make_layout({Collective::AllToAll, nranks, from, 0, 12, true});
        const DataLayout receiver = make_layout({Collective::AllToAll, nranks, to, 0, 12, true});
        const size_t count = sender.send_counts[static_cast<size_t>(to)];
        REQUIRE(count == receiver.recv_counts[static_cast<size_t>(from)]);
        least = std::min(least, count);
        most = std::max(most, count);
      }
    }
    CAPTURE(nranks);
    REQUIRE(least < most);
  }
}

TEST_CASE("Bus factors are those of nccl-tests") {
  REQUIRE(bus_factor(Collective::AllReduce, 4) == 1.5);
  REQUIRE(bus_factor(Collective::AllGather, 4) == 0.75);
  REQUIRE(bus_factor(Collective::ReduceScatter, 8) == 0.875);
  REQUIRE(bus_factor(Collective::AllToAll, 2) == 0.5);
  REQUIRE(bus_factor(Collective::Broadcast, 4) == 1);
  REQUIRE(bus_factor(Collective::SendRecv, 4) == 1);
  REQUIRE(bus_factor(Collective::Hypercube, 4) * algorithm_factor(Collective::Hypercube, 4) == 0.75);
  REQUIRE(algorithm_factor(Collective::AllGather, 4) == 1);
}
