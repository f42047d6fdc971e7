// SPDX-License-Identifier: Apache-2.0
// The minimum data movement of collectives: what their definitions require.
#include <numeric>

#include "catch.h"
#include "moves.h"

namespace {

using namespace rondo::perf;

struct Total {
  size_t read = 0, written = 0;
  bool operator==(const Total&) const = default;
};

Total total(Collective collective, int nranks, size_t count, bool in_place = false, bool varying = false) {
  DataShape shape;
  shape.collective = collective;
  shape.nranks = nranks;
  shape.root = nranks - 1;
  shape.count = count;
  shape.varying = varying;
  Total sum;
  for (const Moved& one : least_moved(shape, in_place)) {
    sum.read += one.read;
    sum.written += one.written;
  }
  return sum;
}

constexpr size_t kCount = 100;

}  // namespace

TEST_CASE("Every input that a result depends on is read once, every result written once") {
  for (const size_t n : {2u, 3u, 8u}) {
    const int ranks = static_cast<int>(n);
    CAPTURE(n);
    REQUIRE(total(Collective::AllReduce, ranks, kCount) == Total{n * kCount, n * kCount});
    REQUIRE(total(Collective::Broadcast, ranks, kCount) == Total{kCount, n * kCount});
    REQUIRE(total(Collective::Reduce, ranks, kCount) == Total{n * kCount, kCount});
    REQUIRE(total(Collective::AllGather, ranks, kCount) == Total{n * kCount, n * n * kCount});
    REQUIRE(total(Collective::ReduceScatter, ranks, kCount) == Total{n * n * kCount, n * kCount});
    REQUIRE(total(Collective::AllToAll, ranks, kCount) == Total{n * n * kCount, n * n * kCount});
    REQUIRE(total(Collective::Gather, ranks, kCount) == Total{n * kCount, n * kCount});
    REQUIRE(total(Collective::Scatter, ranks, kCount) == Total{n * kCount, n * kCount});
    REQUIRE(total(Collective::Barrier, ranks, kCount) == Total{0, 0});
    REQUIRE(total(Collective::Scan, ranks, kCount) == Total{n * kCount, n * kCount});
    REQUIRE(total(Collective::Exscan, ranks, kCount) == Total{(n - 1) * kCount, (n - 1) * kCount});
    REQUIRE(total(Collective::SendRecv, ranks, kCount) == Total{n * kCount, n * kCount});
    REQUIRE(total(Collective::Hypercube, ranks, kCount) == Total{n * kCount, n * n * kCount});
  }
}

TEST_CASE("In place, data that is already in its place does not move") {
  for (const size_t n : {2u, 3u, 8u}) {
    const int ranks = static_cast<int>(n);
    CAPTURE(n);
    REQUIRE(total(Collective::AllReduce, ranks, kCount, true) == Total{n * kCount, n * kCount});
    REQUIRE(total(Collective::Broadcast, ranks, kCount, true) == Total{kCount, (n - 1) * kCount});
    REQUIRE(total(Collective::AllGather, ranks, kCount, true) == Total{n * kCount, n * (n - 1) * kCount});
    REQUIRE(total(Collective::Gather, ranks, kCount, true) == Total{(n - 1) * kCount, (n - 1) * kCount});
    REQUIRE(total(Collective::Scatter, ranks, kCount, true) == Total{(n - 1) * kCount, (n - 1) * kCount});
  }
  REQUIRE(total(Collective::AllReduce, 1, kCount, true) == Total{0, 0});
}

TEST_CASE("Varying lengths move their actual size") {
  const Total moved = total(Collective::AllToAll, 5, kCount, false, true);
  REQUIRE(moved.read == moved.written);
  REQUIRE(moved.read > 0);
}
