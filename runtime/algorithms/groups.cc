// SPDX-License-Identifier: Apache-2.0
#include "groups.h"

#include <algorithm>

#include "parts.h"

namespace rondo {

bool has_groups(const Shape& shape) {
  if (!shape.order.empty() && shape.keeps_rank_order()) return false;
  if (shape.hosts.empty()) return shape.levels.divide(shape.nranks);
  return shape.hosts.size() > 1 && !traits(shape.kind).has_blocks();
}

Groups::Groups(const Shape& shape, int rank)
    : Groups(shape.hosts.empty()
                 ? Groups(shape.nranks / shape.levels.outermost(), shape.levels.outermost(), rank)
                 : Groups(shape.hosts, rank)) {}

Groups Groups::smallest(const Shape& shape, int rank) {
  if (!shape.hosts.empty()) return {shape.hosts, rank};
  return {shape.nranks / shape.levels.innermost(), shape.levels.innermost(), rank};
}

Groups::Groups(int count, int size, int rank)
    : size_(size), largest_(size), count_(count), group_(rank / size), place_(rank % size) {}

Groups::Groups(std::span<const int> sizes, int rank)
    : size_(*std::ranges::min_element(sizes)),
      largest_(*std::ranges::max_element(sizes)),
      count_(static_cast<int>(sizes.size())),
      firsts_{0} {
  for (const int size : sizes) firsts_.push_back(firsts_.back() + size);
  group_ = group_of(rank);
  place_ = place_of(rank);
}

int Groups::first_of(int group) const {
  return firsts_.empty() ? group * size_ : firsts_[static_cast<size_t>(group)];
}

int Groups::group_of(int rank) const {
  if (firsts_.empty()) return rank / size_;
  return static_cast<int>(std::ranges::upper_bound(firsts_, rank) - firsts_.begin()) - 1;
}

std::vector<int> Groups::mates() const {
  std::vector<int> ranks;
  for (int place : others_after(size_of(group_), place_)) ranks.push_back(rank_at(group_, place));
  return ranks;
}

std::vector<int> Groups::mates_with_places() const {
  std::vector<int> ranks = mates();
  std::erase_if(ranks, [&](int mate) { return place_of(mate) >= size_; });
  return ranks;
}

std::vector<int> Groups::counterparts() const {
  std::vector<int> ranks;
  for (int group : others_after(count_, group_)) ranks.push_back(rank_at(group, place_));
  return ranks;
}

std::vector<int> Groups::whole_group() const {
  std::vector<int> ranks;
  for (int place = 0; place < size_of(group_); ++place) ranks.push_back(rank_at(group_, place));
  return ranks;
}

std::vector<int> Groups::whole_column() const {
  std::vector<int> ranks;
  for (int group = 0; group < count_; ++group) ranks.push_back(rank_at(group, place_));
  return ranks;
}

}  // namespace rondo
