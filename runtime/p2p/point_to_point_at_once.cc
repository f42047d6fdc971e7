// SPDX-License-Identifier: Apache-2.0
// The fast path of PointToPoint: most short messages complete immediately, without a queued request.
#include <algorithm>
#include <cstring>

#include "message.h"
#include "p2p/point_to_point.h"
#include "transports/gradual_slots.h"
#include "transports/hints.h"

namespace rondo {

/// The oldest message, though some of its bytes may still be on their way.
const Arrival* PointToPoint::peek_begun(Connection& connection) {
  GradualSlots* const gradual = connection.gradual_slots();
  return gradual != nullptr ? gradual->peek_begun() : connection.peek();
}

/// Copies the arrival's bytes to `place` as they come. False if they have not all come yet: to be called
/// again.
bool PointToPoint::is_copied(Incoming& in, const Arrival& arrival, std::byte* place) {
  if (arrival.data == place) return true;
  GradualSlots* const gradual = gradual_slots(*in.connection, arrival.bytes);
  if (in.place != place) in.copied = 0;
  in.place = place;
  while (in.copied < arrival.bytes) {
    const size_t there = gradual != nullptr ? gradual->bytes_there(in.copied) : arrival.bytes;
    if (there <= in.copied) return false;
    std::memcpy(place + in.copied, arrival.data + in.copied, there - in.copied);
    in.copied = there;
  }
  return true;
}

/// So that the sender may let this end read messages that it would otherwise copy to slots.
void PointToPoint::say_waiting(Incoming& in, const RecvRequest& request, uint64_t receives) {
  expect_eager(*in.connection, request);
  if (in.connection->wait_hints() != nullptr) in.connection->wait_hints()->say_waiting(receives);
}

void PointToPoint::release(Incoming& in) {
  in.place = nullptr;
  in.connection->release();
}

/// Polls briefly for an arrival.
const Arrival* PointToPoint::peek_patiently(Connection& connection) {
  if (const Arrival* const arrival = peek_begun(connection)) return arrival;
  connection.flushed();  // credits must leave
  const WaitHints* const hints = connection.wait_hints();
  if (hints == nullptr || !hints->poll_briefly()) return nullptr;
  return peek_begun(connection);
}

Progress PointToPoint::try_now(SendRequest& request) {
  Outgoing* const out = out_.connected(request.peer);
  if (out == nullptr) return Progress::Failed;
  if (request.id == 0) {
    const bool is_next = out->to_announce.empty() && out->in_flight.empty();
    if (!is_next || !is_eager(request, *out->connection)) return Progress::Failed;
    std::byte* const slot = acquire(*out, request);
    if (slot == nullptr) return Progress::Stuck;
    request.id = out->next_id++;
    announce(*out, slot, request);
  }
  request.done = out->connection->flushed();
  return request.done ? Progress::Done : Progress::Stuck;
}

Progress PointToPoint::try_now(RecvRequest& request, uint64_t receives) {
  Incoming* const connected = in_.connected(request.peer);
  if (connected == nullptr) return Progress::Failed;
  Incoming& in = *connected;
  const bool is_next = posted_.empty() && unexpected_.empty() && in.receiving.empty() && in.grants.empty();
  if (!is_next || request.capacity > in.connection->slot_bytes()) return Progress::Failed;
  if (request.capacity >= kMinPlaced) say_waiting(in, request, receives);
  const Arrival* const arrival = peek_patiently(*in.connection);
  if (arrival == nullptr) return Progress::Stuck;
  const Header header = Header::of(*arrival->signature);
  if (header.kind != Header::MessageKind::Eager || !is_whole(header, *arrival) ||
      (request.tag != kAny && request.tag != header.tag) || !fits(request.peer, header, request))
    return Progress::Failed;
  if (!header.is_brief()) {
    if (!is_copied(in, *arrival, request.data)) return Progress::Stuck;
    if (!stayed_intact(request.peer, in, *arrival)) return Progress::Failed;
  }
  receive(request, request.peer, header, header.is_brief() ? header.data.data() : request.data);
  request.number = ++in.messages;
  release(in);
  if (header.total_bytes >= kMinPlaced) in.connection->flushed();  // its sender may wait for the credit
  return Progress::Done;
}

/// Of the connections to and from the peer; null: none.
std::array<WaitHints*, 2> PointToPoint::wait_hints(int peer) const {
  const auto hints_in = [peer](const auto& sides) -> WaitHints* {
    const auto* const side = sides.connected(peer);
    return side != nullptr ? side->connection->wait_hints() : nullptr;
  };
  return {hints_in(out_), hints_in(in_)};
}

void PointToPoint::note_cpu(int peer, uint32_t cpu) {
  for (WaitHints* hints : wait_hints(peer))
    if (hints != nullptr) hints->note_cpu(cpu);
}

bool PointToPoint::is_on(int peer, uint32_t cpu) const {
  const auto says_so = [cpu](const WaitHints* hints) { return hints != nullptr && hints->is_peer_on(cpu); };
  return std::ranges::any_of(wait_hints(peer), says_so);
}

void PointToPoint::set_yielding(int peer, bool is_yielding) {
  for (WaitHints* hints : wait_hints(peer))
    if (hints != nullptr) hints->set_yielding(is_yielding);
}

bool PointToPoint::is_yielding(int peer) const {
  const auto says_so = [](const WaitHints* hints) { return hints != nullptr && hints->is_peer_yielding(); };
  return std::ranges::any_of(wait_hints(peer), says_so);
}

}  // namespace rondo
