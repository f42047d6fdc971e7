// What of PointToPoint is done as soon as it is asked for, without a request, as most short messages are.
#include <algorithm>

#include "exec/point_to_point.h"

namespace rondo {

/// What has come, or comes in a moment.
std::optional<Arrival> PointToPoint::peek_patiently(Connection& connection) {
  if (auto arrival = connection.peek()) return arrival;
  connection.flushed();  // credits must leave
  if (!connection.linger()) return std::nullopt;
  return connection.peek();
}

Progress PointToPoint::try_now(SendRequest& request) {
  const auto found = out_.find(request.peer);
  if (found == out_.end() || found->second.connection == nullptr) return Progress::Failed;
  Outgoing& out = found->second;
  if (request.id == 0) {
    const bool is_next = out.to_announce.empty() && out.in_flight.empty();
    const bool is_short = request.bytes < kLeastPlaced && is_eager(request, *out.connection);
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
  if (!is_next || request.capacity >= kLeastPlaced) return Progress::Failed;
  const auto arrival = peek_patiently(*in.connection);
  if (!arrival) return Progress::Stuck;
  const Header header = Header::of(*arrival->signature);
  if (header.kind != Kind::Eager || !is_whole(header, *arrival) ||
      (request.tag != kAny && request.tag != header.tag) || !fits(request.peer, header, request))
    return Progress::Failed;
  receive(request, request.peer, header, data_of(header, *arrival));
  ++in.messages;
  in.connection->release();
  return Progress::Done;
}

/// To it and from it; null where there is none.
std::array<Connection*, 2> PointToPoint::connections_with(int peer) const {
  const auto out = out_.find(peer);
  const auto in = in_.find(peer);
  return {out != out_.end() ? out->second.connection : nullptr,
          in != in_.end() ? in->second.connection : nullptr};
}

void PointToPoint::say_away(int peer, bool is_away) {
  for (Connection* connection : connections_with(peer))
    if (connection != nullptr) connection->say_away(is_away);
}

bool PointToPoint::is_away(int peer) const {
  const auto says_so = [](const Connection* one) { return one != nullptr && one->is_peer_away(); };
  return std::ranges::any_of(connections_with(peer), says_so);
}

}  // namespace rondo
