// SPDX-License-Identifier: Apache-2.0
// Divides points of the plane into clusters by k-means. Every rank has points of its own; each iteration
// needs one all_reduce, of the sum and number of the points that are nearest to each centre.
//
// Coordinates are integers, so that sums are exact: any number of ranks finds the same clusters.
//
//     rondo-run -n 4 k_means
#include <rondo/rondo.hpp>

#include <array>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

constexpr std::size_t kClusters = 4, kPoints = 20'000;
constexpr int kMaxIterations = 100;

struct Point {
  std::int64_t x, y;
  bool operator==(const Point&) const = default;
};

/// The points nearest to a centre.
struct Cluster {
  std::int64_t x = 0, y = 0, points = 0;
};

using Centres = std::array<Point, kClusters>;
using Clusters = std::array<Cluster, kClusters>;

/// Point i of all: one of four squares in turn, and a place within it by a linear congruence.
Point point(std::size_t i) {
  static constexpr std::array<Point, kClusters> corners{{{0, 0}, {3'000, 200}, {500, 4'000}, {3'500, 3'500}}};
  const std::uint64_t random = (i + 1) * 6'364'136'223'846'793'005ULL;
  const Point& corner = corners[i % kClusters];
  return {corner.x + static_cast<std::int64_t>(random >> 54),
          corner.y + static_cast<std::int64_t>(random >> 44 & 1023)};
}

std::size_t nearest(const Point& point, const Centres& centres) {
  std::size_t best = 0;
  std::int64_t least = INT64_MAX;
  for (std::size_t k = 0; k < kClusters; ++k) {
    const std::int64_t dx = point.x - centres[k].x, dy = point.y - centres[k].y;
    if (dx * dx + dy * dy >= least) continue;
    least = dx * dx + dy * dy;
    best = k;
  }
  return best;
}

/// Of this rank's points.
Clusters clusters_of(const std::vector<Point>& points, const Centres& centres) {
  Clusters clusters{};
  for (const Point& point : points) {
    Cluster& cluster = clusters[nearest(point, centres)];
    cluster.x += point.x;
    cluster.y += point.y;
    ++cluster.points;
  }
  return clusters;
}

void run(const rondo::Communicator& comm) {
  std::vector<Point> points;
  for (auto i = static_cast<std::size_t>(comm.rank()); i < kPoints;
       i += static_cast<std::size_t>(comm.size()))
    points.push_back(point(i));
  Centres centres{};
  if (comm.rank() == 0)
    for (std::size_t k = 0; k < kClusters; ++k)
      centres[k] = {1'000 * static_cast<std::int64_t>(k + 1), 2'000};  // a guess
  comm.broadcast(centres, 0);

  const auto add = rondo::Reduction<Cluster>::create([](const Cluster& left, const Cluster& right) {
    return Cluster{left.x + right.x, left.y + right.y, left.points + right.points};
  });
  Clusters clusters{};
  int iterations = 0;
  for (Centres before{}; centres != before && iterations < kMaxIterations; ++iterations) {
    before = centres;
    clusters = clusters_of(points, centres);
    comm.all_reduce(clusters, add);
    for (std::size_t k = 0; k < kClusters; ++k)
      if (clusters[k].points != 0)
        centres[k] = {clusters[k].x / clusters[k].points, clusters[k].y / clusters[k].points};
  }
  if (comm.rank() != 0) return;
  for (std::size_t k = 0; k < kClusters; ++k)
    std::printf("cluster %zu: centre (%lld, %lld), %lld points\n", k, static_cast<long long>(centres[k].x),
                static_cast<long long>(centres[k].y), static_cast<long long>(clusters[k].points));
  std::printf("%d iterations on %d ranks\n", iterations, comm.size());
}

}  // namespace

int main() try {
  auto world = rondo::Communicator::init();
  run(world);
  world.close();
  return 0;
} catch (const rondo::Error& error) {
  std::fprintf(stderr, "k_means: %s\n", error.what());
  return 1;
}
