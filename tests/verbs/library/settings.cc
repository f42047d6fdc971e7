// SPDX-License-Identifier: Apache-2.0
#include "settings.h"

#include <arpa/inet.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string_view>

extern char** environ;

namespace rondo::fabric {
namespace {

constexpr std::string_view kBeginning = "RONDO_STANDIN_VERBS";

class Variables {
 public:
  explicit Variables(const std::map<std::string, std::string>& values) : values_(values) {}

  std::string text(const std::string& name, const std::string& otherwise = "") const {
    const auto found = values_.find(name);
    return found == values_.end() || found->second.empty() ? otherwise : found->second;
  }
  uint64_t number(const std::string& name, uint64_t otherwise) const {
    const std::string value = text(name);
    return value.empty() ? otherwise : std::strtoull(value.c_str(), nullptr, 10);
  }

 private:
  const std::map<std::string, std::string>& values_;
};

/// "roce:1:200,ib:2": a RoCE device with a port of 200 Gbit/s, and an InfiniBand device with two ports.
std::vector<DeviceSetting> devices_of(const std::string& list) {
  std::vector<DeviceSetting> devices;
  for (const std::string& entry : split(list, ',')) {
    const auto parts = split(entry, ':');
    const auto number = [&](size_t part, uint32_t otherwise) {
      return part < parts.size() ? static_cast<uint32_t>(std::strtoul(parts[part].c_str(), nullptr, 10))
                                 : otherwise;
    };
    if (parts.empty() || (parts[0] != "ib" && parts[0] != "roce" && parts[0] != "iwarp")) continue;
    devices.push_back({parts[0] == "ib", parts[0] == "iwarp", number(1, 1), number(2, 100)});
  }
  return devices;
}

/// "0xffff,0x8001"
std::vector<uint16_t> pkeys_of(const std::string& list) {
  std::vector<uint16_t> pkeys;
  for (const std::string& entry : split(list, ','))
    pkeys.push_back(static_cast<uint16_t>(std::strtoul(entry.c_str(), nullptr, 16)));
  return pkeys;
}

/// "v1 fe80::%h%p lo;v2 10.9.%p.%h lo": type, address and interface of each entry.
std::vector<GidSetting> gids_of(const std::string& list) {
  std::vector<GidSetting> gids;
  for (const std::string& entry : split(list, ';')) {
    std::istringstream words(entry);
    std::string type;
    GidSetting gid;
    words >> type >> gid.address >> gid.interface;
    gid.type = type == "v1" ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
    gids.push_back(gid);
  }
  return gids;
}

/// "300 port_down 0/rondo_0:1;900 port_up 0/rondo_0:1"
std::vector<TimedCommand> commands_of(const std::string& list) {
  std::vector<TimedCommand> commands;
  for (const std::string& entry : split(list, ';')) {
    std::istringstream words(entry);
    TimedCommand command;
    words >> command.after_ms >> std::ws;
    std::getline(words, command.text);
    commands.push_back(command);
  }
  return commands;
}

/// "register:3,rnr:10"
std::multimap<std::string, uint64_t> faults_of(const std::string& list) {
  std::multimap<std::string, uint64_t> faults;
  for (const std::string& entry : split(list, ',')) {
    const auto parts = split(entry, ':');
    if (parts.size() == 2) faults.emplace(parts[0], std::strtoull(parts[1].c_str(), nullptr, 10));
  }
  return faults;
}

Settings settings_from(std::map<std::string, std::string> values) {
  Settings settings;
  settings.variables = std::move(values);
  const Variables variables(settings.variables);
  settings.devices = devices_of(variables.text("_DEVICES", "roce"));
  settings.host = static_cast<uint32_t>(variables.number("_HOST", 0));
  settings.mtu = mtu_of(variables.number("_MTU", 4096));
  settings.gids = gids_of(
      variables.text("_GIDS", "v1 fe80::%h:%p lo;v2 fe80::%h:%p lo;v1 10.9.%p.%h lo;v2 10.9.%p.%h lo"));
  settings.pkeys = pkeys_of(variables.text("_PKEYS", "0xffff"));
  settings.subnet = static_cast<uint16_t>(variables.number("_SUBNET", 0));
  settings.seed = variables.number("_SEED", 0);
  settings.commands = commands_of(variables.text("_AT"));
  settings.faults = faults_of(variables.text("_FAIL"));
  settings.memlock_bytes = variables.number("_MEMLOCK", 0);
  settings.has_memlock = !variables.text("_MEMLOCK").empty();
  settings.rtr_ms = static_cast<uint32_t>(variables.number("_RTR_MS", 0));
  settings.rtr_error = static_cast<int>(variables.number("_RTR_ERROR", 0));
  settings.has_odp = variables.number("_ODP", 1) != 0;
  settings.has_ece = variables.number("_ECE", 1) != 0;
  settings.has_dmabuf = variables.number("_DMABUF", 1) != 0;
  settings.has_peermem = variables.number("_PEERMEM", 0) != 0;
  settings.holds_gpu_writes = variables.number("_HOLD", 0) != 0;
  settings.copies_on_fork = variables.number("_COPY_ON_FORK", 1) != 0;
  settings.sys = variables.text("_SYS", "/sys");
  return settings;
}

void add_line(std::map<std::string, std::string>& values, std::string_view line) {
  const size_t equals = line.find('=');
  if (!line.starts_with(kBeginning) || equals == std::string_view::npos) return;
  values[std::string(line.substr(kBeginning.size(), equals - kBeginning.size()))] = line.substr(equals + 1);
}

}  // namespace

bool Settings::fails(const std::string& what, uint64_t number) const {
  const auto [first, last] = faults.equal_range(what);
  for (auto fault = first; fault != last; ++fault)
    if (fault->second == number) return true;
  return false;
}

Settings settings_from_environment() {
  std::map<std::string, std::string> values;
  for (char** entry = environ; *entry != nullptr; ++entry) add_line(values, *entry);
  return settings_from(std::move(values));
}

Settings settings_from_text(const std::string& text) {
  std::map<std::string, std::string> values;
  for (const std::string& line : split(text, '\n')) add_line(values, line);
  return settings_from(std::move(values));
}

std::string text_of(const Settings& settings) {
  std::string text;
  for (const auto& [name, value] : settings.variables)
    text.append(kBeginning).append(name).append("=").append(value).append("\n");
  return text;
}

std::vector<std::string> split(const std::string& list, char separator) {
  std::vector<std::string> found;
  std::istringstream stream(list);
  for (std::string one; std::getline(stream, one, separator);) found.push_back(one);
  return found;
}

bool parse_gid(const std::string& text, ibv_gid& gid) {
  std::memset(&gid, 0, sizeof gid);
  if (::inet_pton(AF_INET6, text.c_str(), gid.raw) == 1) return true;
  gid.raw[10] = gid.raw[11] = 0xFF;
  return ::inet_pton(AF_INET, text.c_str(), gid.raw + 12) == 1;
}

ibv_mtu mtu_of(uint64_t bytes) {
  int mtu = IBV_MTU_256;
  while (mtu < IBV_MTU_4096 && bytes_of(static_cast<ibv_mtu>(mtu)) < bytes) ++mtu;
  return static_cast<ibv_mtu>(mtu);
}

}  // namespace rondo::fabric
