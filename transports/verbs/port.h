// SPDX-License-Identifier: Apache-2.0
// VerbsPort: a usable port of an InfiniBand or RoCE device. Both ends of a connection hold the same two
// ports, which they exchange when they meet, so pure functions of them decide alike. Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/byte_codec.h"
#include "base/ip_address.h"

namespace rondo::verbs {

constexpr uint32_t kMinMtu = 256;  // bytes, of InfiniBand and RoCE

enum class GidType : uint8_t { Ib, RoceV1, RoceV2 };

/// An entry of a port's GID table. On RoCE a GID is an IP address of `interface`.
struct Gid {
  IpAddress raw{};
  uint8_t index = 0;  // an address handle has 8 bits for it
  GidType type = GidType::Ib;
  uint8_t prefix_bits = 0;  // of its subnet, counted in the mapped address; 0: unknown
  bool admitted = true;     // by its host's RONDO_SOCKET_IFNAME
  std::string interface;    // empty on InfiniBand

  friend bool operator==(const Gid&, const Gid&) = default;
};

struct VerbsPort {
  std::string device;
  uint8_t number = 1;  // of the device's ports, from 1
  bool infiniband = false;
  uint16_t lid = 0;  // InfiniBand only, as is the subnet prefix
  uint64_t subnet_prefix = 0;
  uint32_t mtu = 1024;    // bytes
  double rate = 0;        // Gb/s
  int16_t numa = -1;      // -1: unknown
  uint16_t distance = 0;  // from the rank's GPU, or from its CPUs; a lower number is nearer
  uint16_t rail = 0;      // its number among its host's ports, from 0
  std::vector<Gid> gids;  // those that connections may use

  /// "mlx5_0:1".
  std::string name() const;
  void write(ByteWriter& writer) const;
  /// A port that write() cannot have written fails the reader.
  static VerbsPort read(ByteReader& reader);

  friend bool operator==(const VerbsPort&, const VerbsPort&) = default;
};

/// "10.0.0.1 (GID 3, RoCE v2, eth0)".
std::string text(const Gid& gid);

void write_ports(ByteWriter& writer, const std::vector<VerbsPort>& ports);
std::vector<VerbsPort> read_ports(ByteReader& reader);

/// Sets `rail` of each port: its position in the natural order of names, in which mlx5_2 precedes mlx5_10.
/// Requires the host's ports before those that cannot be used are left out, or hosts would count differently.
void number_rails(std::vector<VerbsPort>& ports);

}  // namespace rondo::verbs
