// SPDX-License-Identifier: Apache-2.0
// What the two ends of a connection tell one another over their socket: while they connect an PortOffer, a
// PairContact and a Ready each way, and a Farewell when an end closes. All have a fixed size; what comes from
// the peer is checked field by field. Plain data, little-endian.
#pragma once

#include <bit>
#include <vector>

#include "common/params.h"
#include "verbs/port.h"
#include "verbs/queue_pair.h"

namespace rondo::verbs {

static_assert(std::endian::native == std::endian::little);

/// Why the sender does not go on; empty if it does.
using WireText = std::array<char, 512>;

struct WireGid {
  std::array<uint8_t, 16> raw;
  std::array<char, 16> interface;
  uint8_t index;
  uint8_t type;
  std::array<uint8_t, 6> reserved;
};
static_assert(sizeof(WireGid) == 40);

struct WirePort {
  static constexpr size_t kMaxGids = 16;

  std::array<char, 64> device;
  uint64_t subnet_prefix;
  uint32_t mtu;
  uint32_t rate_mbps;
  int32_t numa;
  uint16_t lid;
  uint8_t number;
  uint8_t infiniband;
  uint32_t gid_count;
  uint32_t reserved;
  std::array<WireGid, kMaxGids> gids;
};
static_assert(sizeof(WirePort) == 96 + 16 * 40);

/// First: the parameters, which must match, and the ports to choose from.
struct PortOffer {
  static constexpr uint32_t kMagic = 0x6f627652;  // "Rvbo"
  static constexpr uint32_t kVersion = 1;
  static constexpr size_t kMaxPorts = 8;

  uint32_t magic = kMagic;
  uint32_t version = kVersion;
  WireText refusal{};
  uint64_t slot_bytes = 0;
  uint64_t slots = 0;
  uint32_t port_count = 0;
  uint32_t reserved = 0;
  std::array<WirePort, kMaxPorts> ports{};
};

/// Second: where the sender's queue pair and its slots are.
struct PairContact {
  static constexpr uint32_t kMagic = 0x63627652;  // "Rvbc"

  uint32_t magic = kMagic;
  uint32_t queue_pair = 0;
  WireText refusal{};
  uint32_t first_packet = 0;
  uint32_t key = 0;
  uint64_t slots_at = 0;
};

/// Third: the sender's queue pair receives.
struct Ready {
  static constexpr uint32_t kMagic = 0x72627652;  // "Rvbr"

  uint32_t magic = kMagic;
  uint32_t reserved = 0;
  WireText refusal{};
};

/// Last: the sender has closed its end, after this number of its messages had reached the other.
struct Farewell {
  static constexpr uint32_t kMagic = 0x66627652;  // "Rvbf"

  uint32_t magic = kMagic;
  uint32_t reserved = 0;
  uint64_t delivered = 0;
};

/// With as many ports and GIDs as fit; those of RoCE v2 first.
PortOffer offer_of(const AgreedParams& params, const std::vector<VerbsPort>& ports);
/// The ports of an offer that check() has passed. Both ends read both offers in this way.
std::vector<VerbsPort> ports_of(const PortOffer& offer);

WireText wire_text(const std::string& text);

// RemoteError that names the field with nonsense in it. PortOffer: Mismatch if the parameters differ.
Status check(const PortOffer& offer, const AgreedParams& own);
Status check(const PairContact& contact, const AgreedParams& own);
Status check(const Ready& ready, const AgreedParams& own);

PairAddress address_of(const PairContact& contact);

}  // namespace rondo::verbs
