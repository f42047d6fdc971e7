// SPDX-License-Identifier: Apache-2.0
#include "verbs/port_watch.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace rondo::verbs {

PortWatch::PortWatch(const Devices& devices, const std::vector<VerbsPort>& ports, uint32_t used, int gid,
                     int64_t patience_us)
    : patience_ns_(patience_us * 1000) {
  for (size_t i = 0; i < ports.size(); ++i) {
    auto device = devices.named(ports[i].device);
    if (!device.ok()) continue;
    const WatchedPort port{device.take(), ports[i].number};
    if (i == used)
      used_ = port;
    else
      others_.push_back(port);
  }
  if (gid >= 0) gid_.push_back(ports[used].gids[static_cast<size_t>(gid)]);
}

std::string PortWatch::failure() {
  if (used_.device == nullptr) return {};
  const std::string name = fmt::format("{}:{}", used_.device->name(), used_.number);
  if (has_moved()) return fmt::format("GID {} of {} has changed", gid_[0].index, name);
  const int64_t down_since_ns = used_.device->port_events(used_.number).down_since_ns;
  if (down_since_ns == 0) return {};
  const int64_t patience_ns = another_is_up() ? 0 : patience_ns_;
  return now_ns() - down_since_ns >= patience_ns ? name + " is down" : std::string();
}

/// The table may have changed in another entry.
bool PortWatch::has_moved() {
  if (gid_.empty()) return false;
  const uint32_t changes = used_.device->port_events(used_.number).gid_changes;
  if (std::exchange(gid_changes_, changes) == changes) return false;
  return !has_gid(used_.device->verbs(), used_.device->context(), used_.number, gid_[0]);
}

bool PortWatch::another_is_up() const {
  return std::any_of(others_.begin(), others_.end(), [](const WatchedPort& other) {
    return other.device->port_events(other.number).down_since_ns == 0;
  });
}

}  // namespace rondo::verbs
