// SPDX-License-Identifier: Apache-2.0
#include "verbs/port_watch.h"

#include <algorithm>
#include <utility>

#include "base/clock.h"

namespace rondo::verbs {

std::string PortWatch::failure() {
  if (used_.device == nullptr) return {};
  const Device::PortEvents events = used_.device->port_events(used_.number);
  find_gid(events.gid_changes);
  const auto name = [&] { return fmt::format("{}:{}", used_.device->name(), used_.number); };
  if (is_over(events.down_since_ns)) return name() + " is down";
  if (is_over(gid_gone_since_ns_)) return fmt::format("GID {} of {} has changed", gid_->index, name());
  return {};
}

/// An event may be about another entry of the table.
void PortWatch::find_gid(uint32_t changes) {
  if (!gid_ || std::exchange(gid_changes_, changes) == changes) return;
  const bool is_there = has_gid(used_.device->verbs(), used_.device->context(), used_.number, *gid_);
  if (is_there)
    gid_gone_since_ns_ = 0;
  else if (gid_gone_since_ns_ == 0)
    gid_gone_since_ns_ = now_ns();
}

bool PortWatch::is_over(int64_t since_ns) const {
  if (since_ns == 0) return false;
  return now_ns() - since_ns >= patience_ns_ || another_is_up();
}

bool PortWatch::another_is_up() const {
  return std::any_of(others_.begin(), others_.end(), [](const WatchedPort& other) {
    return !other.device->has_failed() && other.device->port_events(other.number).down_since_ns == 0;
  });
}

}  // namespace rondo::verbs
