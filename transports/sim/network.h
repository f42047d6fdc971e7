// SPDX-License-Identifier: Apache-2.0
// Network: the simulated network of one session; decides when each message arrives. Thread-safe; shared by
// the session's connections.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "transports/transport.h"

namespace rondo::sim {

inline constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

/// Delay of message `sequence` of a direction on a normal link: 0 to sim_delay_us. Depends only on the seed
/// and the key, not on the session, which is random in each run.
int64_t delay_ns(const ConnectionParams& params, const ConnectionKey& key, bool from_dialler,
                 uint64_t sequence);

class Network {
 public:
  /// The session's network; created on first use and kept.
  static std::shared_ptr<Network> of(uint64_t session);

  void drop(int rank);
  void slow(int a, int b, uint64_t bytes_per_s);
  void heal();

  /// When the last byte of a message sent at `sent_at_ns` leaves the link; kNever if it is lost.
  int64_t passed_at_ns(int from, int to, size_t bytes, int64_t sent_at_ns);

 private:
  struct SlowLink {
    uint64_t bytes_per_s = 0;
    int64_t busy_until_ns = 0;
  };

  std::mutex mutex_;
  std::set<int> dropped_;
  std::map<std::pair<int, int>, SlowLink> slow_;  // by sender and receiver
};

}  // namespace rondo::sim
