// SPDX-License-Identifier: Apache-2.0
// What happens to devices, ports and cables: commands of a test, and the events that they cause.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <sstream>

#include "fabric.h"
#include "memory.h"

namespace rondo::fabric {
namespace {

struct Target {
  Host* host = nullptr;
  Device* device = nullptr;
  Port* port = nullptr;  // null: the device
};

/// "0/rondo_0:1" or "0/rondo_0"
Target target_of(Fabric& fabric, const std::string& text) {
  const auto parts = split(text, '/');
  Target target;
  if (parts.size() != 2) return target;
  const auto host = fabric.hosts.find(static_cast<uint32_t>(std::strtoul(parts[0].c_str(), nullptr, 10)));
  if (host == fabric.hosts.end()) return target;
  target.host = host->second.get();
  const auto names = split(parts[1], ':');
  for (Device& device : target.host->devices)
    if (!names.empty() && device.name == names[0]) target.device = &device;
  if (target.device == nullptr || names.size() < 2) return target;
  const size_t number = std::strtoul(names[1].c_str(), nullptr, 10);
  if (number >= 1 && number <= target.device->ports.size()) target.port = &target.device->ports[number - 1];
  return target;
}

void tell(Fabric& fabric, const Target& target, ibv_event_type type) {
  for (Connection& connection : fabric.connections)
    if (connection.device == target.device)
      send_event(connection, type, 0, target.port != nullptr ? target.port->number : 0);
}

int set_port(Fabric& fabric, const Target& target, bool is_up) {
  if (target.port == nullptr) return ENODEV;
  if (target.port->is_up == is_up) return 0;
  target.port->is_up = is_up;
  tell(fabric, target, is_up ? IBV_EVENT_PORT_ACTIVE : IBV_EVENT_PORT_ERR);
  return 0;
}

int kill_device(Fabric& fabric, Target target) {
  if (target.device == nullptr) return ENODEV;
  target.device->is_dead = true;
  target.port = nullptr;
  tell(fabric, target, IBV_EVENT_DEVICE_FATAL);
  return 0;
}

/// Swaps two entries of the table of GIDs.
int move_gid(Fabric& fabric, const Target& target, std::istream& words) {
  size_t from = kMaxGids, to = kMaxGids;
  words >> from >> to;
  if (target.port == nullptr) return ENODEV;
  if (from >= kMaxGids || to >= kMaxGids) return EINVAL;
  std::swap(target.port->gids[from], target.port->gids[to]);
  tell(fabric, target, IBV_EVENT_GID_CHANGE);
  return 0;
}

int drop(Fabric& fabric, std::istream& words) {
  std::string one, other;
  words >> one >> other;
  std::pair<ibv_gid, ibv_gid> pair;
  if (!parse_gid(one, pair.first) || !parse_gid(other, pair.second)) return EINVAL;
  fabric.dropped.push_back(pair);
  return 0;
}

}  // namespace

int carry_out(Fabric& fabric, const std::string& command) {
  std::istringstream words(command);
  std::string name, where;
  words >> name;
  if (name == "drop") return drop(fabric, words);
  if (name == "path_mtu") return words >> fabric.path_bytes ? 0 : EINVAL;
  if (name == "loss") return words >> fabric.loss ? 0 : EINVAL;
  if (name == "land") {
    uint32_t host = 0;
    if (!(words >> host)) return EINVAL;
    for (Connection& connection : fabric.connections)
      if (connection.settings.host == host) land(connection);
    return 0;
  }
  if (name == "heal") {
    fabric.dropped.clear();
    fabric.path_bytes = fabric.loss = 0;
    return 0;
  }
  words >> where;
  const Target target = target_of(fabric, where);
  if (name == "port_down") return set_port(fabric, target, false);
  if (name == "port_up") return set_port(fabric, target, true);
  if (name == "fatal") return kill_device(fabric, target);
  if (name == "gid_move") return move_gid(fabric, target, words);
  return EINVAL;
}

void send_event(Connection& connection, ibv_event_type type, uint64_t owner, uint32_t port) {
  const Event event{owner, static_cast<uint32_t>(type), port};
  [[maybe_unused]] const ssize_t written = ::write(connection.events.get(), &event, sizeof event);
}

}  // namespace rondo::fabric
