// SPDX-License-Identifier: Apache-2.0
#include "verbs/path_attempt.h"

#include <arpa/inet.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>

namespace rondo::verbs {
namespace {

constexpr int64_t kProof_ms = 1000;      // a lost packet is sent again after 0.27 s
constexpr uint32_t kShortBytes = 8;      // passes any path
constexpr uint32_t kImmediate = 0x5270;  // of the short message; the other's is one more

/// Random, so that packets of an earlier connection of the same numbers are not taken for this one's.
Result<uint32_t> first_packet_number() {
  uint32_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) return system_error("getrandom", errno);
  return number & 0xFFFFFF;
}

}  // namespace

Result<std::unique_ptr<PathAttempt>> PathAttempt::make(const std::shared_ptr<Devices>& devices,
                                                       const VerbsPort& own, const VerbsTerms& terms) {
  RONDO_TRY_ASSIGN(const std::shared_ptr<Device> device, devices->named(own.device));
  RONDO_TRY_ASSIGN(const std::shared_ptr<Domain> domain, device->domain(terms.session));
  SlotChannel::ChannelParts parts{.devices = devices, .layout = terms.layout(), .peer_rank = terms.peer};
  auto made = std::unique_ptr<PathAttempt>(new PathAttempt(terms, std::move(parts)));
  RONDO_TRY(made->prepare(domain, own));
  return made;
}

Status PathAttempt::prepare(const std::shared_ptr<Domain>& domain, const VerbsPort& port) {
  const SlotLayout layout = terms_.layout();
  const QueuePair::Depths depths = SlotChannel::depths(layout);
  RONDO_TRY_ASSIGN(parts_.outgoing, SlotMemory::make(domain, layout, SlotMemory::WrittenBy::Owner));
  RONDO_TRY_ASSIGN(parts_.incoming, SlotMemory::make(domain, layout, SlotMemory::WrittenBy::Peer));
  RONDO_TRY_ASSIGN(parts_.pair, QueuePair::make(domain, depths));
  const Device& device = domain->device();
  RONDO_TRY_ASSIGN(const std::vector<uint16_t> keys,
                   partition_keys(device.verbs(), device.context(), port.number));
  RONDO_TRY_ASSIGN(const uint16_t key, partition_index(port, keys, terms_.settings.partition));
  RONDO_TRY(parts_.pair->prepare(port.number, key));
  RONDO_TRY(parts_.pair->post_receives(depths.receives));
  contact_.queue_pair = parts_.pair->number();
  RONDO_TRY_ASSIGN(contact_.first_packet, first_packet_number());
  contact_.key = parts_.incoming->remote_key();
  contact_.slots_at = parts_.incoming->address();
  return {};
}

Status PathAttempt::connect(const Path& path, const PairContact& peer) {
  mtu_ = path.mtu;
  parts_.peer = address_of(peer);
  return parts_.pair->connect(path, parts_.peer, contact_.first_packet);
}

uint32_t PathAttempt::length(Message message) const {
  if (message == kShort) return kShortBytes;
  return static_cast<uint32_t>(std::min<uint64_t>(mtu_, parts_.layout.bytes()));
}

Status PathAttempt::post(Message message) {
  return parts_.pair->post({.id = message,
                            .from = parts_.outgoing->slot(0),
                            .bytes = length(message),
                            .local_key = parts_.outgoing->local_key(),
                            .to = parts_.peer.slots_at,
                            .remote_key = parts_.peer.key,
                            .immediate = kImmediate + message});
}

/// The accepting end answers each message: the dialling end may not be in RTR before it has sent its own.
Status PathAttempt::take(const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS)
    return error(Code::RemoteError, "{} (status {})", library().value()->wc_status_str(completion.status),
                 static_cast<int>(completion.status));
  if (completion.wr_id != QueuePair::kReceive) {
    ++sent_;
    return {};
  }
  const auto message = static_cast<Message>(arrived_);
  const bool expected = arrived_ < kMessages && completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM &&
                        ntohl(completion.imm_data) == kImmediate + message &&
                        completion.byte_len == length(message);
  if (!expected) return error(Code::RemoteError, "a message came that was not expected");
  ++arrived_;
  return terms_.dials ? Status() : post(message);
}

/// Whether anything has come.
Result<bool> PathAttempt::advance() {
  RONDO_TRY_ASSIGN(const auto found, parts_.pair->poll());
  for (const ibv_wc& completion : found) RONDO_TRY(take(completion));
  return !found.empty();
}

/// The peer's verdict may come before the own completions.
Status PathAttempt::sleep(Conversation& conversation, const Deadline& deadline) {
  if (deadline.passed())
    return sent_ == 0 ? error(Code::Timeout, "no answer in {} ms", kProof_ms)
                      : error(Code::Timeout, "messages of {} bytes do not pass", length(kFull));
  RONDO_TRY_ASSIGN(const bool has_spoken, conversation.awaits(parts_.pair->descriptor(), !peers_, deadline));
  if (!has_spoken) return {};
  RONDO_TRY_ASSIGN(peers_, conversation.receive<PathVerdict>());
  return peers_->reason[0] == '\0' ? Status() : error(Code::RemoteError, "{}", peers_->reason.data());
}

Status PathAttempt::exchange(Conversation& conversation) {
  const Deadline deadline = Deadline::in_ms(kProof_ms);
  if (terms_.dials)
    for (const Message message : {kShort, kFull}) RONDO_TRY(post(message));
  while (!is_proved()) {
    RONDO_TRY_ASSIGN(bool moved, advance());
    if (moved) continue;
    RONDO_TRY(parts_.pair->arm());
    RONDO_TRY_ASSIGN(moved, advance());
    if (!moved) RONDO_TRY(sleep(conversation, deadline));
  }
  return parts_.pair->post_receives(kMessages);
}

Result<PathAttempt::ProofResult> PathAttempt::prove(Conversation& conversation, const Status& connected) {
  const Status own = connected.ok() ? exchange(conversation) : connected;
  RONDO_TRY(conversation.send(PathVerdict{.reason = wire_text(own.message())}));
  if (!peers_) {
    RONDO_TRY_ASSIGN(peers_, conversation.receive<PathVerdict>());
  }
  ProofResult outcome{.failure = own.message(), .too_long = sent_ != 0 ? length(kFull) : 0};
  if (own.ok()) outcome.failure = peers_->reason.data();
  return outcome;
}

}  // namespace rondo::verbs
