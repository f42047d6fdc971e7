// SPDX-License-Identifier: Apache-2.0
#include "verbs/wire.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "verbs/slot_layout.h"

namespace rondo::verbs {
namespace {

constexpr uint32_t kMax24 = 0xFFFFFF;
constexpr uint8_t kMaxPortNumber = 254;
constexpr int kMaxNuma = std::numeric_limits<int16_t>::max();

template <size_t size>
void put(std::array<char, size>& field, const std::string& text) {
  field = {};
  std::copy_n(text.begin(), std::min(text.size(), size - 1), field.begin());
}

/// Up to the first zero; check() has found one.
template <size_t size>
std::string get(const std::array<char, size>& field) {
  return std::string(field.data(), ::strnlen(field.data(), size));
}

Status nonsense(const char* field, uint64_t value) {
  return error(Code::RemoteError, "the peer's handshake has {} in the field {}", value, field);
}

Status in_range(const char* field, uint64_t value, uint64_t from, uint64_t to) {
  return value >= from && value <= to ? Status() : nonsense(field, value);
}

/// Texts are printable, so that a log line stays a line, and end inside their field.
template <size_t size>
Status check_text(const char* name, const std::array<char, size>& field) {
  const auto end = std::find(field.begin(), field.end(), '\0');
  if (end == field.end()) return nonsense(name, static_cast<uint8_t>(field.back()));
  for (auto at = field.begin(); at != end; ++at)
    if (*at < ' ' || *at > '~') return nonsense(name, static_cast<uint8_t>(*at));
  return {};
}

Status check_gid(const WireGid& gid) {
  RONDO_TRY(check_text("interface", gid.interface));
  return in_range("type of a GID", gid.type, 0, static_cast<uint8_t>(GidType::RoceV2));
}

Status check_port(const WirePort& port) {
  RONDO_TRY(check_text("device", port.device));
  RONDO_TRY(in_range("port number", port.number, 1, kMaxPortNumber));
  RONDO_TRY(in_range("infiniband", port.infiniband, 0, 1));
  if (!std::has_single_bit(port.mtu)) return nonsense("mtu", port.mtu);
  RONDO_TRY(in_range("mtu", port.mtu, 256, 4096));
  if (port.numa < -1 || port.numa > kMaxNuma) return nonsense("numa", static_cast<uint32_t>(port.numa));
  RONDO_TRY(in_range("gid_count", port.gid_count, 0, WirePort::kMaxGids));
  for (size_t i = 0; i < port.gid_count; ++i) RONDO_TRY(check_gid(port.gids[i]));
  return {};
}

WirePort wire_port(const VerbsPort& port) {
  WirePort wire{};
  put(wire.device, port.device);
  wire.subnet_prefix = port.subnet_prefix;
  wire.mtu = port.mtu;
  wire.rate_mbps = static_cast<uint32_t>(port.rate * 1000);
  wire.numa = port.numa;
  wire.lid = port.lid;
  wire.number = port.number;
  wire.infiniband = port.infiniband ? 1 : 0;
  for (const bool newest : {true, false})
    for (const Gid& gid : port.gids) {
      if ((gid.type == GidType::RoceV1) == newest || wire.gid_count == WirePort::kMaxGids) continue;
      WireGid& to = wire.gids[wire.gid_count++];
      to.raw = gid.raw;
      put(to.interface, gid.interface);
      to.index = gid.index;
      to.type = static_cast<uint8_t>(gid.type);
    }
  return wire;
}

VerbsPort port_of(const WirePort& wire) {
  VerbsPort port{.device = get(wire.device),
                 .number = wire.number,
                 .infiniband = wire.infiniband != 0,
                 .lid = wire.lid,
                 .subnet_prefix = wire.subnet_prefix,
                 .mtu = wire.mtu,
                 .rate = wire.rate_mbps / 1000.0,
                 .numa = static_cast<int16_t>(wire.numa)};
  for (size_t i = 0; i < wire.gid_count; ++i)
    port.gids.push_back({.raw = wire.gids[i].raw,
                         .index = wire.gids[i].index,
                         .type = static_cast<GidType>(wire.gids[i].type),
                         .interface = get(wire.gids[i].interface)});
  return port;
}

}  // namespace

WireText wire_text(const std::string& text) {
  WireText wire;
  put(wire, text);
  return wire;
}

PortOffer offer_of(const AgreedParams& params, const std::vector<VerbsPort>& ports) {
  PortOffer offer{.slot_bytes = params.slot_bytes, .slots = params.slots};
  for (const VerbsPort& port : ports)
    if (offer.port_count < PortOffer::kMaxPorts) offer.ports[offer.port_count++] = wire_port(port);
  return offer;
}

std::vector<VerbsPort> ports_of(const PortOffer& offer) {
  std::vector<VerbsPort> ports;
  for (size_t i = 0; i < offer.port_count; ++i) ports.push_back(port_of(offer.ports[i]));
  return ports;
}

Status check(const PortOffer& offer, const AgreedParams& own) {
  if (offer.magic != PortOffer::kMagic) return nonsense("magic of the offer", offer.magic);
  if (offer.version != PortOffer::kVersion) return nonsense("version", offer.version);
  RONDO_TRY(check_text("refusal", offer.refusal));
  RONDO_TRY(compare(own, {offer.slot_bytes, offer.slots, 0}));
  RONDO_TRY(in_range("port_count", offer.port_count, 0, PortOffer::kMaxPorts));
  for (size_t i = 0; i < offer.port_count; ++i) RONDO_TRY(check_port(offer.ports[i]));
  return {};
}

Status check(const PairContact& contact, const AgreedParams& own) {
  if (contact.magic != PairContact::kMagic) return nonsense("magic of the contact", contact.magic);
  RONDO_TRY(check_text("refusal", contact.refusal));
  if (contact.refusal[0] != '\0') return {};
  RONDO_TRY(in_range("queue_pair", contact.queue_pair, 1, kMax24));
  RONDO_TRY(in_range("first_packet", contact.first_packet, 0, kMax24));
  const uint64_t bytes = SlotLayout{own.slots, own.slot_bytes}.bytes();
  return in_range("slots_at", contact.slots_at, 1, std::numeric_limits<uint64_t>::max() - bytes);
}

Status check(const Ready& ready, const AgreedParams& /*own*/) {
  if (ready.magic != Ready::kMagic) return nonsense("magic of the last message", ready.magic);
  return check_text("refusal", ready.refusal);
}

PairAddress address_of(const PairContact& contact) {
  return {.queue_pair = contact.queue_pair,
          .first_packet = contact.first_packet,
          .key = contact.key,
          .slots_at = contact.slots_at};
}

}  // namespace rondo::verbs
