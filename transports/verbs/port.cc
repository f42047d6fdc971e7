// SPDX-License-Identifier: Apache-2.0
#include "verbs/port.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <tuple>

namespace rondo::verbs {
namespace {

// The kernel's limits without the final 0: IB_DEVICE_NAME_MAX, IFNAMSIZ.
constexpr size_t kMaxDeviceName = 63;
constexpr size_t kMaxInterfaceName = 15;
constexpr uint8_t kMtus = 5;      // each twice as long as the one before
constexpr uint8_t kAdmitted = 4;  // beside the type, which has 2 bits
constexpr uint8_t kMaxPrefixBits = 128;
constexpr uint16_t kMaxGids = 256;  // of a port: their index has 8 bits
constexpr uint16_t kMaxPorts = 256;

void write_name(ByteWriter& writer, std::string_view name) {
  writer.put(static_cast<uint8_t>(name.size()));
  for (const char c : name) writer.put(c);
}

/// Names end up in logs, so control characters are refused.
std::string read_name(ByteReader& reader, size_t max_length) {
  const auto length = reader.get<uint8_t>();
  std::string name;
  for (size_t i = 0; i < length && reader.ok(); ++i) name += reader.get<char>();
  const bool printable =
      std::none_of(name.begin(), name.end(), [](unsigned char c) { return c <= ' ' || c == 0x7f; });
  if (length > max_length || !printable) reader.fail();
  return name;
}

uint8_t mtu_code(uint32_t mtu) {
  uint8_t code = 0;
  while (code + 1 < kMtus && kMinMtu << code < mtu) ++code;
  return code;
}

void write_gid(ByteWriter& writer, const Gid& gid) {
  const auto flags = static_cast<uint8_t>(static_cast<uint8_t>(gid.type) | (gid.admitted ? kAdmitted : 0));
  writer.put(gid.raw).put(gid.index).put(flags).put(gid.prefix_bits);
  write_name(writer, gid.interface);
}

Gid read_gid(ByteReader& reader) {
  Gid gid;
  gid.raw = reader.get<IpAddress>();
  gid.index = reader.get<uint8_t>();
  const auto flags = reader.get<uint8_t>();
  gid.admitted = (flags & kAdmitted) != 0;
  const auto type = static_cast<uint8_t>(flags & ~kAdmitted);
  if (type <= static_cast<uint8_t>(GidType::RoceV2))
    gid.type = static_cast<GidType>(type);
  else
    reader.fail();
  gid.prefix_bits = reader.get<uint8_t>();
  if (gid.prefix_bits > kMaxPrefixBits) reader.fail();
  gid.interface = read_name(reader, kMaxInterfaceName);
  return gid;
}

/// A name as its parts, so that numbers in it compare as numbers: "mlx5_10" is "mlx", 5, "_", 10.
std::vector<std::pair<std::string, uint64_t>> natural_key(std::string_view name) {
  constexpr std::string_view kDigits = "0123456789";
  std::vector<std::pair<std::string, uint64_t>> key;
  while (!name.empty()) {
    const size_t letters = std::min(name.find_first_of(kDigits), name.size());
    auto& [word, number] = key.emplace_back(name.substr(0, letters), 0);
    name.remove_prefix(letters);
    const size_t digits = std::min(name.find_first_not_of(kDigits), name.size());
    for (const char digit : name.substr(0, digits)) number = number * 10 + static_cast<uint64_t>(digit - '0');
    name.remove_prefix(digits);
  }
  return key;
}

}  // namespace

std::string VerbsPort::name() const { return fmt::format("{}:{}", device, number); }

void VerbsPort::write(ByteWriter& writer) const {
  write_name(writer, device);
  writer.put(number)
      .put(static_cast<uint8_t>(infiniband))
      .put(lid)
      .put(subnet_prefix)
      .put(mtu_code(mtu))
      .put(rate)
      .put(numa)
      .put(distance)
      .put(rail)
      .put(static_cast<uint16_t>(gids.size()));
  for (const Gid& gid : gids) write_gid(writer, gid);
}

VerbsPort VerbsPort::read(ByteReader& reader) {
  VerbsPort port;
  port.device = read_name(reader, kMaxDeviceName);
  port.number = reader.get<uint8_t>();
  const auto infiniband = reader.get<uint8_t>();
  port.infiniband = infiniband != 0;
  port.lid = reader.get<uint16_t>();
  port.subnet_prefix = reader.get<uint64_t>();
  const auto mtu = reader.get<uint8_t>();
  port.mtu = kMinMtu << std::min(mtu, kMtus);
  port.rate = reader.get<double>();
  port.numa = reader.get<int16_t>();
  port.distance = reader.get<uint16_t>();
  port.rail = reader.get<uint16_t>();
  const bool sound = !port.device.empty() && port.number != 0 && infiniband <= 1 && mtu < kMtus &&
                     std::isfinite(port.rate) && port.rate >= 0;
  if (!sound) reader.fail();
  const auto gids = reader.get<uint16_t>();
  if (gids > kMaxGids) reader.fail();
  for (uint16_t i = 0; i < gids && reader.ok(); ++i) port.gids.push_back(read_gid(reader));
  return port;
}

std::string text(const Gid& gid) {
  const char* type = gid.type == GidType::RoceV1 ? "RoCE v1" : "RoCE v2";
  if (gid.type == GidType::Ib) return fmt::format("{} (GID {})", ip_text(gid.raw), gid.index);
  return fmt::format("{} (GID {}, {}, {})", ip_text(gid.raw), gid.index, type, gid.interface);
}

void write_ports(ByteWriter& writer, const std::vector<VerbsPort>& ports) {
  writer.put(static_cast<uint16_t>(ports.size()));
  for (const VerbsPort& port : ports) port.write(writer);
}

std::vector<VerbsPort> read_ports(ByteReader& reader) {
  const auto count = reader.get<uint16_t>();
  if (count > kMaxPorts) reader.fail();
  std::vector<VerbsPort> ports;
  for (uint16_t i = 0; i < count && reader.ok(); ++i) ports.push_back(VerbsPort::read(reader));
  return ports;
}

void number_rails(std::vector<VerbsPort>& ports) {
  const auto key = [](const VerbsPort& port) {
    return std::tuple(natural_key(port.device), port.device, port.number);
  };
  for (VerbsPort& port : ports) {
    const auto precedes = [&](const VerbsPort& other) { return key(other) < key(port); };
    port.rail = static_cast<uint16_t>(std::count_if(ports.begin(), ports.end(), precedes));
  }
}

}  // namespace rondo::verbs
