// SPDX-License-Identifier: Apache-2.0
#include "verbs/wire.h"

#include <algorithm>
#include <limits>

#include "base/error_kinds.h"
#include "verbs/gid_choice.h"
#include "verbs/slot_memory.h"
#include "verbs/write_order.h"

namespace rondo::verbs {
namespace {

constexpr uint32_t kMax24 = 0xFFFFFF;

Status in_range(const char* field, uint64_t value, uint64_t from, uint64_t to) {
  return value >= from && value <= to ? Status() : nonsense(field, value);
}

/// What all messages begin with.
template <class Message>
Status check_start(const Message& message, const char* magic) {
  if (message.magic != Message::kMagic) return nonsense(magic, message.magic);
  return check_giving_up(message.gives_up, message.reason);
}

Status check_contact(const PairContact& contact, const AgreedParams& own) {
  RONDO_TRY(in_range("queue_pair", contact.queue_pair, 1, kMax24));
  RONDO_TRY(in_range("first_packet", contact.first_packet, 0, kMax24));
  const uint64_t bytes = SlotPages::bytes({own.slots, own.slot_bytes});
  return in_range("slots_at", contact.slots_at, 1, std::numeric_limits<uint64_t>::max() - bytes);
}

}  // namespace

Status check(const PortOffer& offer, const AgreedParams& own) {
  RONDO_TRY(check_start(offer, "magic of the offer"));
  if (offer.version != PortOffer::kVersion) return nonsense("version", offer.version);
  if (offer.gives_up != kGoesOn) return {};
  RONDO_TRY(compare(own, {offer.slot_bytes, offer.slots, 0}));
  RONDO_TRY(in_range("pairs", offer.pairs, 0, kMaxPairs));
  return in_range("port_bytes", offer.port_bytes, 0, PortOffer::kMaxPortBytes);
}

Status check(const PathProposal& proposal, const AgreedParams& own) {
  RONDO_TRY(check_start(proposal, "magic of the proposal"));
  RONDO_TRY(in_range("follow", proposal.follow, kLastPair, kNoMore));
  const bool proposes = proposal.gives_up == kGoesOn && proposal.follow != kNoMore;
  return proposes ? check_contact(proposal.contact, own) : Status();
}

Status check(const PathAnswer& answer, const AgreedParams& own) {
  RONDO_TRY(check_start(answer, "magic of the answer"));
  return answer.reason[0] != '\0' ? Status() : check_contact(answer.contact, own);
}

Status check(const PathVerdict& verdict, const AgreedParams& /*own*/) {
  RONDO_TRY(check_start(verdict, "magic of the verdict"));
  return in_range("gives_up", verdict.gives_up, kGoesOn, kGoesOn);
}

Result<std::vector<VerbsPort>> ports_of(const std::vector<std::byte>& bytes) {
  ByteReader reader(bytes);
  auto ports = read_ports(reader);
  if (reader.ok()) return ports;
  return error(ErrorKind::MessageBroken, "the peer's handshake has a list of ports that is none");
}

Status check_path(const VerbsPath& path, const std::vector<VerbsPort>& dialler,
                  const std::vector<VerbsPort>& acceptor) {
  if (path.dialler.port >= dialler.size()) return nonsense("dialler's port", path.dialler.port);
  if (path.acceptor.port >= acceptor.size()) return nonsense("acceptor's port", path.acceptor.port);
  const VerbsPort& from = dialler[path.dialler.port];
  const VerbsPort& to = acceptor[path.acceptor.port];
  const auto pairs = address_pairs(from, to);
  const AddressPair addresses{path.dialler.gid, path.acceptor.gid};
  if (std::find(pairs.begin(), pairs.end(), addresses) == pairs.end())
    return nonsense("dialler's GID", static_cast<uint32_t>(path.dialler.gid));
  if (!std::has_single_bit(path.mtu)) return nonsense("mtu", path.mtu);
  return in_range("mtu", path.mtu, kMinMtu, std::min(from.mtu, to.mtu));
}

PairAddress address_of(const PairContact& contact) {
  return {.queue_pair = contact.queue_pair,
          .first_packet = contact.first_packet,
          .key = contact.key,
          .slots_at = contact.slots_at};
}

}  // namespace rondo::verbs
