// SPDX-License-Identifier: Apache-2.0
#include "groups.h"

#include "parts.h"

namespace rondo {

bool has_groups(const Shape& shape) {
  const bool in_order = shape.order.empty() || shape.commutative || !traits(shape.kind).reduces();
  return in_order && shape.levels.divide(shape.nranks);
}

Groups::Groups(const Shape& shape, int rank)
    : Groups(shape.nranks / shape.levels.outermost(), shape.levels.outermost(), rank) {}

Groups::Groups(int count, int size, int rank)
    : size_(size), count_(count), group_(rank / size), place_(rank % size) {}

std::vector<int> Groups::mates() const {
  std::vector<int> ranks;
  for (int place : others_after(size_, place_)) ranks.push_back(rank_at(group_, place));
  return ranks;
}

std::vector<int> Groups::counterparts() const {
  std::vector<int> ranks;
  for (int group : others_after(count_, group_)) ranks.push_back(rank_at(group, place_));
  return ranks;
}

std::vector<int> Groups::whole_group() const {
  std::vector<int> ranks;
  for (int place = 0; place < size_; ++place) ranks.push_back(rank_at(group_, place));
  return ranks;
}

std::vector<int> Groups::whole_column() const {
  std::vector<int> ranks;
  for (int group = 0; group < count_; ++group) ranks.push_back(rank_at(group, place_));
  return ranks;
}

}  // namespace rondo
