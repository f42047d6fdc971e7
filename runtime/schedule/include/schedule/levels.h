// SPDX-License-Identifier: Apache-2.0
// Levels: which ranks are close to one another. Plain data: any thread.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>

namespace rondo {

/// Groups of close ranks, and groups of those: the ranks of a cache, of a memory node, of a host, of a part
/// of the network. All groups of a level have the same size, which divides that of the next level and the
/// number of ranks. Between groups of the last level are the slowest links.
class Levels {
 public:
  static constexpr int kMax = 4;

  constexpr Levels() = default;
  /// One level of groups of that size; 1: none.
  constexpr Levels(int size) { add(size); }  // NOLINT(google-explicit-constructor): as it is called
  constexpr Levels(std::initializer_list<int> sizes) {
    for (const int size : sizes) add(size);
  }

  /// Adds a level outside of the others, unless its groups are those that there are. Requires that it
  /// divides.
  constexpr void add(int size) {
    if (size > outermost() && count_ < kMax) sizes_[static_cast<size_t>(count_++)] = size;
  }

  constexpr bool empty() const { return count_ == 0; }
  constexpr int count() const { return count_; }
  constexpr int size(int level) const { return sizes_[static_cast<size_t>(level)]; }
  /// The size of the smallest and of the largest groups; 1: there are none.
  constexpr int innermost() const { return count_ == 0 ? 1 : sizes_[0]; }
  constexpr int outermost() const { return count_ == 0 ? 1 : size(count_ - 1); }
  /// The other levels as the innermost groups see them, if each is one rank.
  constexpr Levels outside() const {
    Levels made;
    for (int level = 1; level < count_; ++level) made.add(size(level) / innermost());
    return made;
  }
  /// Whether there are groups, and several of each level, that divide that number of ranks.
  constexpr bool divide(int nranks) const {
    int inner = 1;
    for (int level = 0; level < count_; ++level) {
      if (size(level) % inner != 0) return false;
      inner = size(level);
    }
    return count_ != 0 && inner < nranks && nranks % inner == 0;
  }

  friend constexpr bool operator==(const Levels&, const Levels&) = default;

 private:
  std::array<int32_t, kMax> sizes_{};  // from the smallest; the rest is 0
  int32_t count_ = 0;
};

}  // namespace rondo
