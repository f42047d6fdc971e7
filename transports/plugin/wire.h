// SPDX-License-Identifier: Apache-2.0
// What the two ends of a connection tell one another over their socket: a PluginOffer each way, unless the
// first says otherwise a PluginVerdict each way once an end knows whether its plugin has connected it, and a
// Farewell (common/peer_socket.h) when an end closes. What comes from the peer is checked field by field.
// Plain data, little-endian.
#pragma once

#include <bit>

#include "common/giving_up.h"
#include "common/params.h"
#include "plugin/abi.h"

namespace rondo::plugin {

static_assert(std::endian::native == std::endian::little);

/// The parameters, which must match, and where the sender listens.
struct PluginOffer {
  static constexpr uint32_t kMagic = 0x6f6e7052;  // "Rpno"
  static constexpr uint32_t kVersion = 1;

  uint32_t magic = kMagic;
  uint32_t version = kVersion;
  uint32_t gives_up = kGoesOn;
  uint32_t reserved = 0;
  WireText reason{};
  WireText plugin{};  // what the sender's plugin calls itself
  uint64_t slot_bytes = 0;
  uint64_t slots = 0;
  alignas(16) std::array<std::byte, kHandleBytes> handle{};  // the plugin's, and not looked into
};

/// Whether the sender is connected both ways.
struct PluginVerdict {
  static constexpr uint32_t kMagic = 0x766e7052;  // "Rpnv"

  uint32_t magic = kMagic;
  uint32_t gives_up = kGoesOn;
  WireText reason{};
};

// RemoteError that names the field with nonsense in it.
Status check(const PluginOffer& offer);
Status check(const PluginVerdict& verdict);

}  // namespace rondo::plugin
