// SPDX-License-Identifier: Apache-2.0
#include "verbs/path_attempt.h"

#include <arpa/inet.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>

namespace rondo::verbs {
namespace {

constexpr int64_t kMinProof_ms = 1000;
constexpr int64_t kMaxProof_ms = 5000;
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
                                                       const VerbsPort& own, const VerbsTerms& terms,
                                                       const ConnectionPages& pages,
                                                       const std::vector<PairEnd>& others) {
  RONDO_TRY_ASSIGN(const std::shared_ptr<Device> device, devices->named(own.device));
  RONDO_TRY_ASSIGN(const std::shared_ptr<Domain> domain,
                   device->domain(terms.session, terms.settings.max_pinned, terms.settings.on_demand));
  auto made = std::unique_ptr<PathAttempt>(new PathAttempt(terms));
  made->domain_ = domain;
  RONDO_TRY(made->find_slots(domain, pages, others));
  RONDO_TRY(made->prepare(domain, own));
  return made;
}

Status PathAttempt::find_slots(const std::shared_ptr<Domain>& domain, const ConnectionPages& pages,
                               const std::vector<PairEnd>& others) {
  for (const PairEnd& other : others) {
    if (&other.pair->device() != &domain->device()) continue;
    end_.outgoing = other.outgoing;
    end_.incoming = other.incoming;
    return {};
  }
  RONDO_TRY_ASSIGN(end_.outgoing, SlotMemory::make(domain, pages.outgoing, SlotMemory::WrittenBy::Owner));
  RONDO_TRY_ASSIGN(end_.incoming, SlotMemory::make(domain, pages.incoming, SlotMemory::WrittenBy::Peer));
  return {};
}

Status PathAttempt::prepare(const std::shared_ptr<Domain>& domain, const VerbsPort& port) {
  const QueuePair::Depths depths = PairSet::depths(terms_.layout());
  RONDO_TRY_ASSIGN(end_.pair, QueuePair::make(domain, depths));
  const Device& device = domain->device();
  RONDO_TRY_ASSIGN(const std::vector<uint16_t> keys,
                   partition_keys(device.verbs(), device.context(), port.number));
  RONDO_TRY_ASSIGN(pkey_index_, partition_index(port, keys, terms_.settings.partition));
  RONDO_TRY(end_.pair->prepare(port.number, pkey_index_));
  RONDO_TRY(end_.pair->post_receives(depths.receives));
  contact_.queue_pair = end_.pair->number();
  RONDO_TRY_ASSIGN(contact_.first_packet, first_packet_number());
  contact_.key = end_.incoming->remote_key();
  contact_.slots_at = end_.incoming->address();
  if (terms_.dials) tell_ece(end_.pair->ece());
  return {};
}

Status PathAttempt::connect(const Path& path, const PairContact& peer, const ReadBack::OwnAddress& own) {
  mtu_ = path.mtu;
  end_.peer = address_of(peer);
  const bool has_ece = peer.ece_vendor != 0;
  const Status accepted =
      has_ece ? end_.pair->set_ece({peer.ece_vendor, peer.ece_options, peer.ece_mask}) : Status();
  if (terms_.dials) RONDO_TRY(accepted);  // the peer uses it
  RONDO_TRY(end_.pair->connect(path, end_.peer, contact_.first_packet));
  if (!terms_.dials && has_ece && accepted.ok()) tell_ece(end_.pair->ece());
  if (!terms_.reads_back) return {};
  RONDO_TRY_ASSIGN(end_.read_back, ReadBack::make(domain_, end_.incoming, path, own, pkey_index_));
  return {};
}

void PathAttempt::tell_ece(const ibv_ece& ece) {
  contact_.ece_vendor = ece.vendor_id;
  contact_.ece_options = ece.options;
  contact_.ece_mask = ece.comp_mask;
}

uint32_t PathAttempt::length(Message message) const {
  return message == kShort ? kShortBytes
                           : static_cast<uint32_t>(std::min<uint64_t>(mtu_, SlotPages::kProofBytes));
}

/// Long enough for lost packets to be sent again.
int64_t PathAttempt::proof_ms() const {
  const int64_t resend_ms = (int64_t{4096} << terms_.settings.timeout) / 1'000'000;
  return std::clamp(3 * resend_ms, kMinProof_ms, kMaxProof_ms);
}

Status PathAttempt::post(Message message) {
  if (message == kShort) deadline_ = Deadline::in_ms(proof_ms());
  return end_.pair->post({.id = message,
                          .pieces = {{{end_.outgoing->proof(), length(message), end_.outgoing->local_key()}}},
                          .to = end_.peer.slots_at + terms_.layout().bytes(),
                          .remote_key = end_.peer.key,
                          .immediate = kImmediate + message});
}

/// The accepting end answers each message: the dialling end may not be in RTR before it has sent its own.
void PathAttempt::take(const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS)
    return fail(error(Code::RemoteError, "{} (status {})",
                      library().value()->wc_status_str(completion.status),
                      static_cast<int>(completion.status)));
  if (completion.wr_id != QueuePair::kReceive) {
    ++sent_;
    return;
  }
  const auto message = static_cast<Message>(arrived_);
  const bool expected = arrived_ < kMessages && completion.opcode == IBV_WC_RECV_RDMA_WITH_IMM &&
                        ntohl(completion.imm_data) == kImmediate + message &&
                        completion.byte_len == length(message);
  if (!expected) return fail(error(Code::RemoteError, "a message came that was not expected"));
  ++arrived_;
  if (!terms_.dials) fail(post(message));
}

/// Whether anything has come.
bool PathAttempt::advance() {
  const auto found = end_.pair->poll();
  fail(found.status());
  if (!found.ok()) return true;
  for (const ibv_wc& completion : found.value())
    if (failure_.ok()) take(completion);
  return !found.value().empty();
}

/// The peer's verdict may come before the own completions.
Status PathAttempt::await_progress(Conversation& conversation) {
  if (deadline_.passed()) {
    fail(arrived_ == 0 ? error(Code::Timeout, "no answer in {} ms", proof_ms())
                       : error(Code::Timeout, "messages of {} bytes do not pass", length(kFull)));
    return {};
  }
  RONDO_TRY_ASSIGN(const bool has_spoken,
                   conversation.speaks_before(end_.pair->descriptor(), !peers_, deadline_));
  if (!has_spoken) return {};
  RONDO_TRY_ASSIGN(peers_, conversation.receive<PathVerdict>());
  if (peers_->reason[0] != '\0') fail(error(Code::RemoteError, "{}", peers_->reason.data()));
  return {};
}

Status PathAttempt::exchange(Conversation& conversation) {
  if (terms_.dials)
    for (const Message message : {kShort, kFull}) fail(post(message));
  while (failure_.ok() && !is_proved()) {
    if (advance()) continue;
    fail(end_.pair->arm());
    if (!advance()) RONDO_TRY(await_progress(conversation));
  }
  if (failure_.ok()) fail(end_.pair->post_receives(kMessages));
  return {};
}

Result<PathAttempt::ProofResult> PathAttempt::prove(Conversation& conversation, const Status& connected) {
  fail(connected);
  if (failure_.ok()) RONDO_TRY(exchange(conversation));
  RONDO_TRY(conversation.send(PathVerdict{.reason = wire_text(failure_.message())}));
  if (!peers_) {
    RONDO_TRY_ASSIGN(peers_, conversation.receive<PathVerdict>());
  }
  const bool carries_short = sent_ != 0 && arrived_ != 0;
  return ProofResult{.failure = failure_.ok() ? peers_->reason.data() : failure_.message(),
                     .too_long = carries_short ? length(kFull) : 0};
}

}  // namespace rondo::verbs
