// SPDX-License-Identifier: Apache-2.0
// Heat in a rod whose ends have fixed temperatures, with the exchange between neighbouring ranks hidden
// behind the computation: each rank starts to send its outermost points and to receive its neighbours',
// computes the points that need neither, and only then waits.
//
//     rank 0 | . . . . a |   a and b cross, while the dots are computed
//     rank 1           | b . . . . |
//
// At the end rank 0 collects the rod and compares it with one that it has computed alone, bit for bit.
//
//     rondo-run -n 4 overlap
#include <rondo/rondo.hpp>

#include <cstdio>
#include <vector>

namespace {

constexpr std::size_t kPoints = 10'007;
constexpr int kSteps = 200;
constexpr int kToRight = 1, kToLeft = 2;  // tags: which way a point travels

/// A stretch of the rod: its points, and a halo point at each end.
struct Stretch {
  explicit Stretch(std::size_t points) : now(points + 2), next(points + 2) {}

  std::size_t points() const { return now.size() - 2; }
  void compute(std::size_t first, std::size_t last) {
    for (std::size_t i = first; i <= last; ++i)
      next[i] = now[i] + 0.25 * (now[i - 1] - 2 * now[i] + now[i + 1]);
  }
  void finish_step() {
    next.front() = now.front();
    next.back() = now.back();
    now.swap(next);
  }

  std::vector<double> now, next;
};

void step(Stretch& rod, const rondo::Communicator& comm) {
  const std::size_t last = rod.points();
  std::vector<rondo::Request> requests;
  if (comm.rank() > 0) {
    requests.push_back(comm.irecv(rod.now.front(), comm.rank() - 1, kToRight));
    requests.push_back(comm.isend(rod.now[1], comm.rank() - 1, kToLeft));
  }
  if (comm.rank() + 1 < comm.size()) {
    requests.push_back(comm.irecv(rod.now.back(), comm.rank() + 1, kToLeft));
    requests.push_back(comm.isend(rod.now[last], comm.rank() + 1, kToRight));
  }
  rod.compute(2, last - 1);  // meanwhile
  rondo::wait_all(requests);
  rod.compute(1, 1);
  rod.compute(last, last);
  rod.finish_step();
}

/// The rod as one rank computes it.
Stretch alone() {
  Stretch rod(kPoints);
  rod.now.front() = 100.0;
  for (int i = 0; i < kSteps; ++i) {
    rod.compute(1, kPoints);
    rod.finish_step();
  }
  return rod;
}

int run(const rondo::Communicator& comm) {
  const auto ranks = static_cast<std::size_t>(comm.size()), rank = static_cast<std::size_t>(comm.rank());
  std::vector<std::size_t> counts;
  for (std::size_t r = 0; r < ranks; ++r) counts.push_back(kPoints * (r + 1) / ranks - kPoints * r / ranks);

  Stretch rod(counts[rank]);
  if (rank == 0) rod.now.front() = 100.0;
  for (int i = 0; i < kSteps; ++i) step(rod, comm);

  std::vector<double> whole(rank == 0 ? kPoints : 0);
  comm.gather_v(std::span(rod.now).subspan(1, rod.points()), whole, counts, 0);
  if (rank != 0) return 0;
  const Stretch wanted = alone();
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < kPoints; ++i) wrong += whole[i] != wanted.now[i + 1];
  std::printf("%zu points, %d steps on %d ranks: %zu differ from the serial solution\n", kPoints, kSteps,
              comm.size(), wrong);
  return wrong == 0 ? 0 : 1;
}

}  // namespace

int main() try {
  auto world = rondo::Communicator::init();
  const int outcome = run(world);
  world.close();
  return outcome;
} catch (const rondo::Error& error) {
  std::fprintf(stderr, "overlap: %s\n", error.what());
  return 1;
}
