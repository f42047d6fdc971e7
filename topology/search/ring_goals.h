// SPDX-License-Identifier: Apache-2.0
// What CycleSearch looks for: the widest ring over what links have left, and the cheapest ring by their
// prices. One thread at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "host_rings.h"
#include "ring_hops.h"

namespace rondo {

/// The ring that can carry the most; hops that carry the most come first.
class WidestRing {
 public:
  /// `left`: what the rows have left. `places`: of the nodes, among those of equal worth. `enough`: more is
  /// of no use.
  WidestRing(const RingHops& hops, const std::vector<int64_t>& left, const std::vector<int>& places,
             int network, int64_t enough);

  std::vector<int> nodes_after(int from, const std::vector<int>& left);
  bool enter(int from, int to);
  void leave();
  bool complete(const std::vector<int>& order);

  /// Without an order if there is none.
  const HostRing& found() const { return found_; }

 private:
  struct WideWay {
    int index = -1;
    int64_t kBps = 0;
  };
  struct Entered {
    const RingHop* hop;
    int index;
    int64_t kBps;  // of the ring so far
  };

  WideWay widest_way(int from, int to) const;
  int64_t so_far() const { return entered_.empty() ? enough_ : entered_.back().kBps; }

  const RingHops& hops_;
  const std::vector<int64_t>& left_;
  const std::vector<int>& places_;
  const int network_;
  const int64_t enough_;
  std::vector<int64_t> taken_;  // by row, for each unit of the ring
  std::vector<Entered> entered_;
  HostRing found_;
};

/// The ring whose rows cost least, if that is less than `limit`; cheap hops come first.
class CheapestRing {
 public:
  /// `prices` are by row.
  CheapestRing(const RingHops& hops, const std::vector<int64_t>& prices, int network, int64_t limit);

  std::vector<int> nodes_after(int from, const std::vector<int>& left) const;
  bool enter(int from, int to);
  void leave();
  bool complete(const std::vector<int>& order);

  /// Without an order if there is none.
  const HostRing& found() const { return found_; }
  int64_t cost() const { return limit_; }

 private:
  struct CheapWay {
    int index = -1;
    int64_t cost = 0;
  };
  const CheapWay& way(int from, int to) const { return ways_[index(from, to)]; }
  size_t index(int from, int to) const {
    return static_cast<size_t>(from) * static_cast<size_t>(nodes_) + static_cast<size_t>(to);
  }
  CheapWay cheapest_way(const RingHops& hops, const std::vector<int64_t>& prices, int from, int to) const;

  const int nodes_;
  const int network_;
  int64_t limit_;
  std::vector<CheapWay> ways_;
  std::vector<int64_t> cheapest_into_;  // by node
  std::vector<std::pair<int, int>> entered_;
  int64_t cost_ = 0;  // of the hops entered
  int64_t rest_ = 0;  // at least, of those into the other nodes
  HostRing found_;
};

}  // namespace rondo
