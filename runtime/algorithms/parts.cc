// SPDX-License-Identifier: Apache-2.0
#include "parts.h"

#include <algorithm>
#include <cstdint>

namespace rondo {

int ceil_log2(int n) {
  int k = 0;
  while ((1LL << k) < n) ++k;
  return k;
}

int floor_log2(int n) {
  int k = 0;
  while ((2LL << k) <= n) ++k;
  return k;
}

CpuWork vector_each(const Shape& shape) {
  const double vectors = (shape.nranks - 1.0) / shape.nranks;
  return {.volume = vectors, .messages = vectors};
}

CpuWork warm_each(const Shape& shape) {
  CpuWork work = vector_each(shape);
  work.warm = work.volume;
  return work;
}

CpuWork relayed_each(const Shape& shape) {
  CpuWork work = vector_each(shape);
  work.warm = std::max(0.0, work.volume - 1.0 / shape.nranks);
  return work;
}

double relayed_around(double n, double volume) { return std::max(0.0, volume - 1 / n); }

CpuWork fold_each(const Shape& shape) {
  CpuWork work = vector_each(shape);
  work.folds = work.volume;
  return work;
}

std::vector<int> all_ranks(int n) {
  std::vector<int> ranks;
  for (int rank = 0; rank < n; ++rank) ranks.push_back(rank);
  return ranks;
}

std::vector<int> others_after(int n, int rank) {
  std::vector<int> ranks;
  for (int i = 1; i < n; ++i) ranks.push_back((rank + i) % n);
  return ranks;
}

std::vector<int> ranks_above(int n, int rank) {
  std::vector<int> ranks;
  for (int above = rank + 1; above < n; ++above) ranks.push_back(above);
  return ranks;
}

bool fits(const Shape& shape, int64_t steps, int64_t parts) {
  const int64_t blocks = traits(shape.kind).has_blocks() ? shape.nranks : 1;
  return shape.nranks >= 1 && steps < Step::kNone && blocks * parts < Step::kNone;
}

void add_ring_relay(Schedule& schedule, const Move& relay, Ref hold) {
  if (schedule.rank != 0) {
    schedule.add(relay);
    return;
  }
  Move take = relay;
  take.dst = hold;
  take.send.clear();
  schedule.add(take);
  schedule.add({.src = hold, .send = relay.send, .count = relay.count});
}

}  // namespace rondo
