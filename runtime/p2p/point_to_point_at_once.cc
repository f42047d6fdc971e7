// SPDX-License-Identifier: Apache-2.0
// The fast path of PointToPoint: most short messages complete immediately, without a queued request.
#include <algorithm>

#include "message.h"
#include "p2p/point_to_point.h"
#include "transports/hints.h"

namespace rondo {

/// Polls briefly for an arrival.
std::optional<Arrival> PointToPoint::peek_patiently(Connection& connection) {
  if (auto arrival = connection.peek()) return arrival;
  connection.flushed();  // credits must leave
  const WaitHints* const hints = connection.wait_hints();
  if (hints == nullptr || !hints->poll_briefly()) return std::nullopt;
  return connection.peek();
}

Progress PointToPoint::try_now(SendRequest& request) {
  const auto found = out_.find(request.peer);
  if (found == out_.end() || found->second.connection == nullptr) return Progress::Failed;
  Outgoing& out = found->second;
  if (request.id == 0) {
    const bool is_next = out.to_announce.empty() && out.in_flight.empty();
    const bool is_short = request.bytes < kMinPlaced && is_eager(request, *out.connection);
    if (!is_next || !is_short) return Progress::Failed;
    if (out.connection->acquire() == nullptr) return Progress::Stuck;
    request.id = out.next_id++;
    announce(out, request);
  }
  request.done = out.connection->flushed();
  return request.done ? Progress::Done : Progress::Stuck;
}

Progress PointToPoint::try_now(RecvRequest& request) {
  const auto found = in_.find(request.peer);
  if (found == in_.end() || found->second.connection == nullptr) return Progress::Failed;
  Incoming& in = found->second;
  const bool is_next = posted_.empty() && unexpected_.empty() && in.receiving.empty() && in.grants.empty();
  if (!is_next || request.capacity >= kMinPlaced) return Progress::Failed;
  const auto arrival = peek_patiently(*in.connection);
  if (!arrival) return Progress::Stuck;
  const Header header = Header::of(*arrival->signature);
  if (header.kind != Header::MessageKind::Eager || !is_whole(header, *arrival) ||
      (request.tag != kAny && request.tag != header.tag) || !fits(request.peer, header, request))
    return Progress::Failed;
  receive(request, request.peer, header, data_of(header, *arrival));
  ++in.messages;
  in.connection->release();
  return Progress::Done;
}

/// Of the connections to and from the peer; null: none.
std::array<WaitHints*, 2> PointToPoint::wait_hints(int peer) const {
  const auto hints_in = [peer](const auto& connections) -> WaitHints* {
    const auto found = connections.find(peer);
    if (found == connections.end() || found->second.connection == nullptr) return nullptr;
    return found->second.connection->wait_hints();
  };
  return {hints_in(out_), hints_in(in_)};
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
