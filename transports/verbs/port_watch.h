// SPDX-License-Identifier: Apache-2.0
// PortWatch: whether the own port of a connection's path still is as it was, by the events of its device, so
// that a link that fails while nothing is sent is left early. A port that is down, or whose address is gone,
// may come back soon: without another way to the peer it is given as long as a queue pair sends again what is
// not answered. Used by the connection's thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "verbs/device.h"

namespace rondo::verbs {

class PortWatch {
 public:
  struct WatchedPort {
    std::shared_ptr<Device> device;
    uint8_t number = 0;
  };
  /// Watches nothing.
  PortWatch() = default;
  /// `gid`: that it uses, if any. `others`: the other ports that reach the peer.
  PortWatch(WatchedPort used, std::optional<Gid> gid, std::vector<WatchedPort> others, int64_t patience_us)
      : used_(std::move(used)),
        others_(std::move(others)),
        gid_(std::move(gid)),
        patience_ns_(patience_us * 1000) {}

  /// Why the path is lost; empty if it is not. By the events that the device has read.
  std::string failure();

 private:
  void find_gid(uint32_t changes);
  bool is_over(int64_t since_ns) const;
  bool another_is_up() const;

  WatchedPort used_;
  std::vector<WatchedPort> others_;
  std::optional<Gid> gid_;
  uint32_t gid_changes_ = 0;
  int64_t gid_gone_since_ns_ = 0;  // 0: it is there
  int64_t patience_ns_ = 0;
};

}  // namespace rondo::verbs
