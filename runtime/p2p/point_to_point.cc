// SPDX-License-Identifier: Apache-2.0
#include "p2p/point_to_point.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/clock.h"
#include "base/error_kinds.h"
#include "kernels/stream_copy.h"
#include "message.h"
#include "transports/gradual_slots.h"
#include "transports/hints.h"
#include "transports/zero_copy.h"

namespace rondo {
namespace {

void copy(std::byte* to, const std::byte* from, size_t bytes) { std::memcpy(to, from, bytes); }

constexpr size_t kPiece = size_t{8} * 1024;

/// Copies the bytes to the acquired slot and sends them; `gradual`, if any, piece by piece.
void send_by_slot(Connection& connection, std::byte* slot, const std::byte* data, size_t bytes,
                  bool could_post, GradualSlots* gradual, const Signature& signature) {
  FillHints* const hints = connection.fill_hints();
  const FillHints::Filling filling = filling_by(hints, bytes, could_post);
  const int64_t start_ns = filling.is_timed ? now_ns() : 0;
  if (gradual != nullptr) gradual->begin(bytes, signature);
  const size_t piece = gradual != nullptr ? kPiece : std::max<size_t>(bytes, 1);
  for (size_t begin = 0; begin < bytes; begin += piece) {
    const size_t end = std::min(bytes, begin + piece);
    (filling.streams ? stream_copy : copy)(slot + begin, data + begin, end - begin);
    if (filling.is_timed && end == bytes) hints->filled(now_ns() - start_ns);
    if (gradual != nullptr) gradual->grown(end);
  }
  if (gradual == nullptr) connection.commit(bytes, signature);
}

/// Null: data there cannot be sent from where it is.
ZeroCopy* zero_copy_of(const Connection& connection, const std::byte* data, size_t bytes) {
  ZeroCopy* const zero_copy = connection.zero_copy();
  if (zero_copy == nullptr) return nullptr;
  if (const auto memory = find_offered(data, bytes)) zero_copy->export_memory(*memory);
  return zero_copy;
}

/// Whether the data was posted. Requires a free slot.
bool post(const Connection& connection, const std::byte* data, size_t bytes, const Signature& signature) {
  ZeroCopy* const zero_copy = zero_copy_of(connection, data, bytes);
  return zero_copy != nullptr && zero_copy->can_post(data, bytes) && zero_copy->post(data, bytes, signature);
}

uint64_t offer(const Connection& connection, const std::byte* data, size_t bytes) {
  ZeroCopy* const zero_copy = zero_copy_of(connection, data, bytes);
  return zero_copy != nullptr ? zero_copy->offer(data, bytes) : 0;
}

/// Whether the peer polls for the next message, on a CPU of its own: a peer that yields would read it only at
/// its next turn, which takes longer than a copy.
bool is_peer_waiting(const Connection& connection) {
  const WaitHints* const hints = connection.wait_hints();
  return hints != nullptr && hints->is_peer_waiting() && !hints->is_peer_yielding();
}

/// Withdraws what was posted or expected there.
void withdraw(const Connection* connection) {
  if (connection != nullptr && connection->zero_copy() != nullptr) connection->zero_copy()->cancel();
}

}  // namespace

PointToPoint::PointToPoint(int self, int nranks, Connect connect)
    : self_(self), nranks_(nranks), connect_(std::move(connect)), out_(nranks), in_(nranks) {}

PointToPoint::~PointToPoint() = default;

size_t PointToPoint::unreceived() const { return unexpected_.size(); }

Status PointToPoint::reach(const SendRequest& request) {
  if (request.peer != self_) is_connected(self_, request.peer, out_[request.peer].connection);
  return failure_;
}

Status PointToPoint::reach(const RecvRequest& request) {
  for (int source = 0; source < nranks_; ++source)
    if (source != self_ && (request.peer == kAny || request.peer == source))
      is_connected(source, self_, in_[source].connection);
  return failure_;
}

bool PointToPoint::is_connecting() const {
  return std::any_of(out_.begin(), out_.end(), [](const auto& side) {
    return side.second.connection == nullptr && !side.second.to_announce.empty();
  });
}

/// Begins to make the connection, or goes on; a failure stays in status().
bool PointToPoint::is_connected(int source, int destination, Connection*& connection) {
  if (connection != nullptr) [[likely]]
    return true;
  if (!failure_.ok()) return false;
  auto made = connect_(source, destination);
  failure_ = made.status();
  if (made.ok()) connection = made.value();
  if (connection != nullptr) join(source == self_ ? destination : source);
  return connection != nullptr;
}

/// Tells the connections with a peer of each other, once there are both.
void PointToPoint::join(int peer) {
  const Outgoing* const out = out_.connected(peer);
  const Incoming* const in = in_.connected(peer);
  if (out != nullptr && in != nullptr) out->connection->answer(*in->connection);
}

Status PointToPoint::start(std::shared_ptr<SendRequest> request) {
  if (request->peer == self_) {
    to_self(request);
    return failure_;
  }
  RONDO_TRY(reach(*request));
  Outgoing& out = out_[request->peer];
  if (request->id != 0) {  // by try_now()
    out.in_flight.push_back(std::move(request));
    return {};
  }
  request->id = out.next_id++;
  out.to_announce.push_back(std::move(request));
  return {};
}

Status PointToPoint::start(std::shared_ptr<RecvRequest> request) {
  RONDO_TRY(reach(*request));
  const auto found = std::find_if(unexpected_.begin(), unexpected_.end(), [&](const Message& message) {
    return (request->peer == kAny || request->peer == message.source) &&
           (request->tag == kAny || request->tag == message.header.tag);
  });
  if (found == unexpected_.end()) {
    posted_.push_back(std::move(request));
    return {};
  }
  const Message message = std::move(*found);
  unexpected_.erase(found);
  if (fits(message.source, message.header, *request)) deliver(request, message, message.data.data());
  return failure_;
}

/// An announced message waits for its grant.
Awaited PointToPoint::awaited(const SendRequest& request) const {
  const Outgoing* const out = out_.connected(request.peer);
  if (out == nullptr) return {};
  const bool is_announced = std::any_of(out->in_flight.begin(), out->in_flight.end(),
                                        [&](const auto& one) { return one.get() == &request; });
  const bool needs_grant = is_announced && !request.eager && !request.granted;
  return out->connection->awaited(needs_grant ? Connection::Awaiting::Arrival : Connection::Awaiting::Room);
}

Awaited PointToPoint::awaited(const RecvRequest& request) const {
  const Incoming* const in = in_.connected(request.peer);
  return in != nullptr ? in->connection->awaited(Connection::Awaiting::Arrival) : Awaited();
}

bool PointToPoint::progress() {
  bool moved = false;
  for (auto& [peer, out] : out_) moved = progress_out(peer, out) || moved;
  for (auto& [source, in] : in_) moved = progress_in(source, in) || moved;
  return moved;
}

/// A source that has left is an error for an any-source receive only if all other sources have left too.
Status PointToPoint::connection_status() const {
  for (const auto& [peer, out] : out_)
    if (out.connection != nullptr && (!out.to_announce.empty() || !out.in_flight.empty()))
      RONDO_TRY(out.connection->status());
  Status left;
  bool all_left = true;
  for (const auto& [source, in] : in_) {
    const Status status = in.connection != nullptr ? in.connection->status() : Status();
    all_left = all_left && !status.ok();
    if (status.ok() || !wanted(source, in)) continue;
    if (needed(source, in) || !in.connection->has_left()) return status;
    left = status;
  }
  return all_left ? left : Status();
}

void PointToPoint::abandon(const SendRequest& request) {
  Outgoing* const out = out_.find(request.peer);
  if (out == nullptr) return;
  const auto is_it = [&](const auto& one) { return one.get() == &request; };
  out->unannounced += std::erase_if(out->to_announce, is_it);
  std::erase_if(out->in_flight, is_it);  // it may be try_now()'s, which are in no list
  // Other data was copied to a slot or has not been sent.
  if (!request.done && (request.granted || request.offered)) withdraw(out->connection);
}

void PointToPoint::abandon(const RecvRequest& request) {
  const auto is_it = [&](const auto& one) { return one.get() == &request; };
  std::erase_if(posted_, is_it);
  // By try_now() or expect_next().
  const bool may_be_expected = !request.done && request.capacity >= kMinPlaced;
  for (auto& [source, in] : in_) {
    const bool had_begun = std::erase_if(in.receiving, is_it) + std::erase_if(in.fetching, is_it) != 0;
    if (had_begun || (may_be_expected && source == request.peer)) withdraw(in.connection);
  }
}

void PointToPoint::cancel() {
  for (const auto& [peer, out] : out_) withdraw(out.connection);
  for (const auto& [source, in] : in_) withdraw(in.connection);
}

void PointToPoint::note_unasked(PendingMessages& pending) const {
  for (const Message& message : unexpected_)
    if (pending.receives.names(message.source) || pending.receives.names(kAny))
      pending.unexpected.add({message.source, message.header.tag});
}

std::vector<uint64_t> PointToPoint::sent() const {
  std::vector<uint64_t> sent(static_cast<size_t>(nranks_));
  for (const auto& [peer, out] : out_) sent[static_cast<size_t>(peer)] = out.next_id - 1 - out.unannounced;
  return sent;
}

std::vector<uint64_t> PointToPoint::received() const {
  std::vector<uint64_t> received(static_cast<size_t>(nranks_));
  for (const auto& [peer, in] : in_) received[static_cast<size_t>(peer)] = in.messages;
  return received;
}

bool PointToPoint::progress_out(int peer, Outgoing& out) {
  if (out.to_announce.empty() && out.in_flight.empty()) return false;
  if (!is_connected(self_, peer, out.connection)) return false;
  bool moved = announce(out);
  moved = take_grants(peer, out) || moved;
  return stream(out) || moved;
}

/// Announces messages in call order, which keeps messages with the same tag in order.
bool PointToPoint::announce(Outgoing& out) {
  bool moved = false;
  while (!out.to_announce.empty()) {
    std::byte* const slot = acquire(out, *out.to_announce.front());
    if (slot == nullptr) break;
    const auto request = out.to_announce.front();
    out.to_announce.pop_front();
    announce(out, slot, *request);
    out.in_flight.push_back(request);
    moved = true;
  }
  return moved;
}

/// A slot to announce the message in, with its data if it is eager, which is decided here. Null: none is
/// free.
std::byte* PointToPoint::acquire(const Outgoing& out, SendRequest& request) {
  request.eager = is_eager(request, *out.connection);
  return out.connection->acquire(request.eager && !Header::is_brief(request.bytes) ? request.bytes : 0);
}

/// `slot`: the acquired one.
void PointToPoint::announce(Outgoing& out, std::byte* slot, SendRequest& request) {
  request.sent = request.eager ? request.bytes : 0;
  if (request.eager && Header::is_brief(request.bytes)) {
    Signature signature;
    Header::write_brief(signature, request);
    return out.connection->commit(0, signature);
  }
  Header header =
      Header::of(request.eager ? Header::MessageKind::Eager : Header::MessageKind::Request, request);
  if (!request.eager && request.ready >= request.bytes)
    header.offer = offer(*out.connection, request.data, request.bytes);
  request.offered = header.offer != 0;
  // Asked last, since it may cost the transfer of a cache line.
  const bool may_post = request.sent >= kMinPlaced && is_peer_waiting(*out.connection);
  request.granted = put(*out.connection, slot, header, request.data, request.sent, {.may_post = may_post});
}

/// For a message of this length; null: it is sent whole.
GradualSlots* PointToPoint::gradual_slots(const Connection& connection, size_t bytes) {
  return bytes >= GradualSlots::kLeast ? connection.gradual_slots() : nullptr;
}

bool PointToPoint::is_eager(const SendRequest& request, const Connection& connection) {
  return request.bytes <= connection.slot_bytes() && request.bytes <= request.ready;
}

/// Polls for grants only while one is due.
bool PointToPoint::take_grants(int peer, Outgoing& out) {
  const auto is_due = [](const auto& request) { return !request->eager && !request->granted; };
  bool moved = false;
  while (std::any_of(out.in_flight.begin(), out.in_flight.end(), is_due)) {
    const Arrival* const arrival = out.connection->peek();
    if (!arrival) break;
    if (!take_grant(out, Header::of(*arrival->signature))) {
      failure_ = error(ErrorKind::MessageBroken, "rank {} granted a message that rank {} never announced",
                       peer, self_)
                     .as(Code::InternalError);
      return moved;
    }
    out.connection->release();
    moved = true;
  }
  return moved;
}

bool PointToPoint::take_grant(Outgoing& out, const Header& header) {
  const auto found = std::find_if(out.in_flight.begin(), out.in_flight.end(),
                                  [&](const auto& request) { return request->id == header.id; });
  if (found == out.in_flight.end()) return false;
  SendRequest& request = **found;
  const bool is_taken = header.kind == Header::MessageKind::Taken && request.offered;
  if (!is_taken && header.kind != Header::MessageKind::Grant) return false;
  if (std::exchange(request.offered, false)) out.connection->zero_copy()->end_offer();
  request.granted = true;
  if (is_taken) request.sent = request.bytes;
  return true;
}

/// Granted messages take turns, one slot each, so that a long one does not delay a short one. One round per
/// call, so that incoming data is consumed as fast as data is sent, while the cache still holds it.
bool PointToPoint::stream(Outgoing& out) {
  bool moved = false;
  const size_t room = out.connection->slot_bytes();
  for (size_t turns = out.in_flight.size(); turns != 0; --turns) {
    SendRequest& request = *out.in_flight.front();
    const size_t bytes = std::min(room, std::min(request.bytes, request.ready) - request.sent);
    if (request.granted && bytes != 0) {
      std::byte* const slot = out.connection->acquire(bytes);
      if (slot == nullptr) break;
      // In between both ends are busy anyway, with a slot each.
      const bool is_at_end = request.sent == 0 || request.sent + bytes == request.bytes;
      put(*out.connection, slot, Header::of(Header::MessageKind::Data, request), request.data + request.sent,
          bytes, {.may_post = true, .is_gradual = is_at_end});
      request.sent += bytes;
      moved = true;
    }
    out.in_flight.splice(out.in_flight.end(), out.in_flight, out.in_flight.begin());
  }
  if (!out.connection->flushed()) return moved;
  for (const auto& request : out.in_flight)
    request->done = request->sent == request->bytes && (request->granted || request->eager);
  const size_t left = std::erase_if(out.in_flight, [](const auto& request) { return request->done; });
  return moved || left != 0;
}

/// `slot`: the acquired one. True if the message was posted: a receiver that waits for it takes it from
/// `data`.
bool PointToPoint::put(Connection& connection, std::byte* slot, const Header& header, const std::byte* data,
                       size_t bytes, const SlotUse& use) {
  Signature signature;
  header.write_to(signature);
  const bool could_post = use.may_post && bytes >= kMinPlaced;
  if (could_post && post(connection, data, bytes, signature)) return true;
  GradualSlots* const gradual = use.is_gradual ? gradual_slots(connection, bytes) : nullptr;
  send_by_slot(connection, slot, data, bytes, could_post, gradual, signature);
  return false;
}

void PointToPoint::to_self(const std::shared_ptr<SendRequest>& request) {
  Message message{self_, Header::of(Header::MessageKind::Eager, *request), {}, 0};
  request->done = true;
  if (const auto receiver = match_posted(self_, message.header)) {
    if (fits(self_, message.header, *receiver)) deliver(receiver, message, request->data);
    return;
  }
  if (request->bytes != 0) message.data.assign(request->data, request->data + request->bytes);
  unexpected_.push_back(std::move(message));
}

}  // namespace rondo
