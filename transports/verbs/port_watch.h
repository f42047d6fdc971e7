// SPDX-License-Identifier: Apache-2.0
// PortWatch: whether the own port of a connection's path still is as it was, by the events of its device, so
// that a link that fails while nothing is sent is left early. Used by the connection's thread; enters the
// kernel only after an event.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "verbs/device.h"

namespace rondo::verbs {

class PortWatch {
 public:
  /// Watches nothing.
  PortWatch() = default;
  /// Of the ports of this end, the one that is used and the position of its GID; -1: it uses none.
  /// `patience_us`: how long the port may be down if no other one is up, as the queue pair sends again what
  /// is not answered for that long.
  PortWatch(const Devices& devices, const std::vector<VerbsPort>& ports, uint32_t used, int gid,
            int64_t patience_us);

  /// Why the path is lost; empty if it is not.
  std::string failure();

 private:
  struct WatchedPort {
    std::shared_ptr<Device> device;
    uint8_t number = 0;
  };
  bool has_moved();
  bool another_is_up() const;

  WatchedPort used_;
  std::vector<WatchedPort> others_;
  std::vector<Gid> gid_;  // one or none
  uint32_t gid_changes_ = 0;
  int64_t patience_ns_ = 0;
};

}  // namespace rondo::verbs
