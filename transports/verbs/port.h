// SPDX-License-Identifier: Apache-2.0
// VerbsPort: a usable port of a network card, as its host and its peers know it. Plain data.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace rondo::verbs {

enum class GidType : uint8_t { Ib, RoceV1, RoceV2 };

/// An address of a port, an entry of its table of GIDs.
struct Gid {
  std::array<uint8_t, 16> raw{};
  uint8_t index = 0;  // a queue pair has 8 bits for it
  GidType type = GidType::Ib;
  std::string interface;  // of the network; empty on InfiniBand, and in what a peer says
};

struct VerbsPort {
  std::string device;
  uint8_t number = 0;
  bool infiniband = false;  // otherwise RoCE
  uint16_t lid = 0;
  uint64_t subnet_prefix = 0;
  uint32_t mtu = 0;   // bytes
  double rate = 0;    // Gbit/s
  int16_t numa = -1;  // memory node; -1: unknown
  std::vector<Gid> gids;

  /// "mlx5_0:1"
  std::string name() const { return device + ":" + std::to_string(number); }
};

}  // namespace rondo::verbs
