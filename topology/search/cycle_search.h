// SPDX-License-Identifier: Apache-2.0
// CycleSearch: depth-first search through the orders of nodes 0 to n - 1 that begin with node 0 and close to
// a cycle. What is looked for is the goal's: it says which of the nodes come next and in which order, and
// cuts branches off.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "work_limit.h"

namespace rondo {

/// A Goal has
///   std::vector<int> nodes_after(int from, const std::vector<int>& left)   those worth a visit, best first
///   bool enter(int from, int to)   makes the hop, or says that it is not worthwhile
///   void leave()                   takes the latest hop back
///   bool complete(const std::vector<int>& order)   at a cycle, all hops of which were entered: whether the
///                                                  search is to end
template <typename Goal>
class CycleSearch {
 public:
  /// Ends after `max_hops` have been entered, or when the limit is reached.
  CycleSearch(int nodes, Goal& goal, WorkLimit& limit, int64_t max_hops)
      : goal_(goal), limit_(limit), max_hops_(max_hops) {
    for (int node = 1; node != nodes; ++node) left_.push_back(node);
  }

  /// Whether all cycles were searched, or the goal ended the search.
  bool run() {
    order_.push_back(0);
    visit(0);
    return !is_cut_short_;
  }

 private:
  // Hops take far less than a step of WorkLimit, and are counted together.
  static constexpr int64_t kHopsAStep = 16;

  void visit(int from) {
    if (left_.empty()) {
      if (!goal_.enter(from, 0)) return;
      ended_ = goal_.complete(order_);
      goal_.leave();
      return;
    }
    for (const int to : goal_.nodes_after(from, left_)) {
      if (ended_ || !has_time()) return;
      if (!goal_.enter(from, to)) continue;
      std::erase(left_, to);
      order_.push_back(to);
      visit(to);
      order_.pop_back();
      left_.insert(std::ranges::lower_bound(left_, to), to);
      goal_.leave();
    }
  }

  bool has_time() {
    if (hops_ == max_hops_ || (hops_ % kHopsAStep == 0 && !limit_.allows(1))) is_cut_short_ = true;
    ++hops_;
    return !is_cut_short_;
  }

  Goal& goal_;
  WorkLimit& limit_;
  const int64_t max_hops_;
  int64_t hops_ = 0;
  std::vector<int> order_, left_;
  bool ended_ = false, is_cut_short_ = false;
};

}  // namespace rondo
