// SPDX-License-Identifier: Apache-2.0
// What limits each collective over a network of links, in kB/s. Internal to the bound.
#pragma once

#include <span>
#include <vector>

#include "base/collective.h"
#include "cut.h"

namespace rondo {

/// x, as bound.h defines it, and the cut that it is due to.
struct Limit {
  Rational x;
  RatioCut cut;
};

class CollectiveLimits {
 public:
  /// `root` is an index of network.gpus, for collectives that have one.
  CollectiveLimits(const CutNetwork& network, int root);

  /// Not of barrier, which moves nothing. The capacities have to add up to less than 2^61 / GPUs.
  Limit of(CollectiveKind collective) const;

  /// If all_reduce reduces and broadcasts at the same time.
  Limit all_reduce_in_network() const;

  /// An x that no all_reduce exceeds unless switches combine; `limit` is what of() says.
  Rational all_reduce_ceiling(const Limit& limit) const;

 private:
  Limit over(std::span<const int> sources, std::span<const int> sinks) const;
  Limit back_over(std::span<const int> sources, std::span<const int> sinks) const;
  Limit all_reduce() const;
  Limit all_to_all() const;
  Limit scan() const;

  const CutNetwork there_, back_;
  const bool is_symmetric_;  // both have the same edges: what limits one way limits the other
  const std::vector<int> root_;
  std::vector<int> others_;
};

}  // namespace rondo
