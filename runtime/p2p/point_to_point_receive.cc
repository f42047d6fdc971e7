// SPDX-License-Identifier: Apache-2.0
// The receiving half of PointToPoint.
#include <algorithm>
#include <bit>
#include <cstring>

#include "base/clock.h"
#include "base/error_kinds.h"
#include "message.h"
#include "p2p/point_to_point.h"
#include "transports/gradual_slots.h"
#include "transports/zero_copy.h"

namespace rondo {
namespace {

std::string text_of(size_t bytes, uint32_t type_bytes, const char* verb, int peer, int tag) {
  return fmt::format("{}(count={}, {} bytes per element, {}, tag={})", verb, bytes / type_bytes, type_bytes,
                     peer == kAny ? "any source" : fmt::format("peer={}", peer),
                     tag == kAny ? "any" : fmt::format("{}", tag));
}

/// Whether the arrival stayed valid while it was read.
bool intact(const Connection& connection) {
  return connection.zero_copy() == nullptr || connection.zero_copy()->intact();
}

Status cancelled_by(int source) {
  return error(ErrorKind::MessageCancelled, "rank {} cancelled a message while it was being read", source);
}

void expect(const Connection& connection, std::byte* place, size_t bytes, const Signature& signature) {
  if (connection.zero_copy() != nullptr) connection.zero_copy()->expect(place, bytes, signature);
}

void expect_all(const Connection& connection, std::byte* place, size_t bytes, const Signature& signature) {
  if (connection.zero_copy() != nullptr) connection.zero_copy()->expect_all(place, bytes, signature);
}

}  // namespace

/// Slots are consumed only while a request waits for their source; otherwise they stay, and the sender stops
/// for lack of credits.
bool PointToPoint::wanted(int source, const Incoming& in) const {
  if (!in.receiving.empty() || !in.grants.empty() || !in.fetching.empty()) return true;
  return std::any_of(posted_.begin(), posted_.end(),
                     [&](const auto& request) { return request->peer == kAny || request->peer == source; });
}

/// Whether a request waits for this source specifically.
bool PointToPoint::needed(int source, const Incoming& in) const {
  return !in.receiving.empty() || !in.grants.empty() || !in.fetching.empty() ||
         std::any_of(posted_.begin(), posted_.end(),
                     [&](const auto& request) { return request->peer == source; });
}

/// Tells the connection where the next bytes go, if that is known.
void PointToPoint::expect_next(int source, const Incoming& in) const {
  const size_t room = in.connection->slot_bytes();
  if (!in.receiving.empty()) {
    const RecvRequest& request = *in.receiving.front();
    const size_t bytes = std::min(room, request.bytes - request.arrived);
    if (bytes >= kMinPlaced)
      expect(*in.connection, request.data + request.arrived, bytes, signature_of_data(request));
    return;
  }
  const auto next = std::find_if(posted_.begin(), posted_.end(), [&](const auto& request) {
    return request->peer == kAny || request->peer == source;
  });
  if (next != posted_.end()) expect_eager(*in.connection, **next);
}

/// Not for any-source receives: two sources could write to the same buffer.
void PointToPoint::expect_eager(const Connection& connection, const RecvRequest& request) {
  const bool is_long = request.capacity >= kMinPlaced;
  if (!is_long || request.capacity > connection.slot_bytes() || request.peer == kAny || request.tag == kAny)
    return;
  const Header header{Header::MessageKind::Eager, request.tag, 0, request.capacity, request.type_bytes};
  expect(connection, request.data, request.capacity, header.signature());
}

/// Of a message that was granted.
Signature PointToPoint::signature_of_data(const RecvRequest& request) {
  return Header{Header::MessageKind::Data, request.got_tag, request.id, request.bytes, request.type_bytes}
      .signature();
}

bool PointToPoint::progress_in(int source, Incoming& in) {
  if (!is_connected(source, self_, in.connection)) return false;
  bool moved = send_grants(in);
  bool is_long = false;
  moved = fetch(source, in) || moved;
  while (failure_.ok() && wanted(source, in)) {
    expect_next(source, in);
    const auto arrival = peek_begun(*in.connection);
    if (!arrival || !take(source, in, *arrival)) break;
    is_long = arrival->bytes >= kMinPlaced;
    release(in);
    moved = true;
    if (is_long) break;  // so that sends make progress in between
  }
  moved = send_grants(in) || moved;
  // Grants and credits for posted messages must leave even if nothing more is received.
  if (is_long || wanted(source, in)) in.connection->flushed();
  return moved;
}

bool PointToPoint::send_grants(Incoming& in) {
  bool moved = false;
  while (!in.grants.empty()) {
    std::byte* const slot = in.connection->acquire(0);
    if (slot == nullptr) break;
    const uint64_t id = in.grants.front();
    const auto granted = std::find_if(in.receiving.begin(), in.receiving.end(),
                                      [&](const auto& request) { return request->id == id; });
    if (granted != in.receiving.end())  // it was not abandoned
      expect_all(*in.connection, (*granted)->data, (*granted)->bytes, signature_of_data(**granted));
    put(*in.connection, slot, Header{.kind = Header::MessageKind::Grant, .id = id}, nullptr, 0, {});
    in.grants.pop_front();
    moved = true;
  }
  return moved;
}

/// Takes one step with the oldest message that is fetched.
bool PointToPoint::fetch(int source, Incoming& in) {
  if (in.fetching.empty() || !failure_.ok()) return false;
  const std::shared_ptr<RecvRequest> request = in.fetching.front();
  const size_t bytes = std::min(kFetch, request->bytes - request->arrived);
  if (bytes == 0) return say_taken(in);
  switch (in.connection->zero_copy()->fetch(request->offer, request->arrived,
                                            request->data + request->arrived, bytes)) {
    case ZeroCopy::Fetched::Done:
      request->arrived += bytes;
      in.came[kFetched] += bytes;
      if (request->arrived == request->bytes) say_taken(in);
      break;
    case ZeroCopy::Fetched::Refused:
      in.fetching.pop_front();
      request->arrived = 0;
      request->matched_ns = 0;
      in.receiving.push_back(request);
      in.grants.push_back(request->id);
      break;
    case ZeroCopy::Fetched::Cancelled: failure_ = cancelled_by(source); break;
  }
  return true;
}

/// Up to 128 KiB, 256 KiB, ... 4 MiB, and longer.
TimedChoice& PointToPoint::offers_like(Incoming& in, const RecvRequest& request) {
  constexpr size_t kShortest = size_t{128} * 1024;
  const auto doublings = static_cast<size_t>(std::bit_width((request.bytes - 1) / kShortest));
  return in.offers[std::min(doublings, in.offers.size() - 1)];
}

/// Fetched, a message is copied once, here, while its sender waits; by slots twice, at both ends at once.
/// What counts is the rate at which bytes came between the match of recent ones of about the same length and
/// their end: those that take turns take longer, but so much more comes meanwhile.
/// At first they are fetched, which touches no slot's pages, until slots can be tried for a tenth of the
/// bytes; or they are not, where fetching is slow on this host.
PointToPoint::OfferedWay PointToPoint::way_of_next(Incoming& in, const RecvRequest& request) {
  constexpr uint64_t kTenth = 10;
  constexpr uint64_t kFirstBySlots = uint64_t{256} * 1024 * 1024;  // bytes
  const ZeroCopy& zero_copy = *in.connection->zero_copy();
  if (zero_copy.fetches_all()) return kFetched;
  const TimedChoice& choice = offers_like(in, request);
  const bool is_quick = zero_copy.fetches_quickly();
  if (in.offered < (is_quick ? kTenth * choice.row() * request.bytes : kFirstBySlots))
    return is_quick ? kFetched : kBySlots;
  return static_cast<OfferedWay>(choice.next(1U << kFetched | 1U << kBySlots));
}

/// Messages that take turns go the same way, or it could not be told which of two is faster.
bool PointToPoint::chooses_to_fetch(Incoming& in, RecvRequest& request) {
  constexpr int kMaxTogether = 64;
  const bool takes_turns = !in.fetching.empty() || !in.receiving.empty();
  if (!takes_turns || ++in.together == kMaxTogether) {
    in.way = way_of_next(in, request);
    in.together = 0;
  }
  in.offered += request.bytes;
  offers_like(in, request).takes(in.way);
  request.is_fetched = in.way == kFetched;
  request.matched_ns = now_ns();
  request.came_before = in.came;
  return request.is_fetched;
}

/// Where fetching is slow, it counts as longer than it took: meanwhile this rank, whose messages to its peer
/// may have come by slots as well, sends nothing. With both directions fetched, 512 KiB took 36 us, by slots
/// 20, and one of each 47 (2 ranks, Zen 5). A time during which bytes came the other way too tells nothing.
void PointToPoint::all_arrived(Incoming& in, RecvRequest& request) {
  request.done = true;
  if (request.matched_ns == 0) return;
  const int64_t ns = now_ns() - request.matched_ns;
  const auto [own, other] =
      request.is_fetched ? std::pair(kFetched, kBySlots) : std::pair(kBySlots, kFetched);
  if (in.came[other] != request.came_before[other]) return;
  const bool is_weighed = request.is_fetched && !in.connection->zero_copy()->fetches_quickly();
  offers_like(in, request).took(own, in.came[own] - request.came_before[own], is_weighed ? ns + ns / 2 : ns);
}

/// False while there is no room to tell the sender of the message that has been fetched.
bool PointToPoint::say_taken(Incoming& in) {
  std::byte* const slot = in.connection->acquire(0);
  if (slot == nullptr) return false;
  RecvRequest& request = *in.fetching.front();
  put(*in.connection, slot, Header{.kind = Header::MessageKind::Taken, .id = request.id}, nullptr, 0, {});
  all_arrived(in, request);
  in.fetching.pop_front();
  return true;
}

/// Whether this is a valid first slot of a message: an announcement, or all data of an eager one.
bool PointToPoint::is_whole(const Header& header, const Arrival& arrival) {
  if (header.type_bytes == 0) return false;
  if (header.kind == Header::MessageKind::Eager)
    return arrival.bytes == (header.is_brief() ? 0 : header.total_bytes);
  return header.kind == Header::MessageKind::Request;
}

const std::byte* PointToPoint::data_of(const Header& header, const Arrival& arrival) {
  return header.is_brief() ? header.data.data() : arrival.data;
}

/// False: some of its bytes are still on their way.
bool PointToPoint::take(int source, Incoming& in, const Arrival& arrival) {
  const Header header = Header::of(*arrival.signature);
  if (header.kind == Header::MessageKind::Data) return take_data(source, in, header, arrival);
  GradualSlots* const gradual = gradual_slots(*in.connection, arrival.bytes);
  if (gradual != nullptr && gradual->bytes_there(arrival.bytes - 1) < arrival.bytes) return false;
  ++in.messages;
  take_first(source, header, arrival);
  stayed_intact(source, in, arrival);
  return true;
}

/// To be asked once the arrival has been copied. A sender whose call has failed may cancel what it has
/// posted.
bool PointToPoint::stayed_intact(int source, const Incoming& in, const Arrival& arrival) {
  if (arrival.bytes < kMinPlaced || intact(*in.connection)) return true;
  failure_ = cancelled_by(source);
  return false;
}

/// Takes an announcement or an eager message.
void PointToPoint::take_first(int source, const Header& header, const Arrival& arrival) {
  if (!is_whole(header, arrival)) {
    failure_ =
        error(ErrorKind::MessageBroken, "rank {} sent rank {} a message with a broken header", source, self_)
            .as(Code::InternalError);
    return;
  }
  const std::byte* data = data_of(header, arrival);
  Message message{source, header, {}, in_[source].messages};
  if (const auto request = match_posted(source, header)) {
    if (fits(source, header, *request)) deliver(request, message, data);
    return;
  }
  if (header.kind == Header::MessageKind::Eager) message.data.assign(data, data + header.total_bytes);
  unexpected_.push_back(std::move(message));
}

bool PointToPoint::take_data(int source, Incoming& in, const Header& header, const Arrival& arrival) {
  const auto found = std::find_if(in.receiving.begin(), in.receiving.end(),
                                  [&](const auto& request) { return request->id == header.id; });
  if (found == in.receiving.end() || arrival.bytes > (*found)->bytes - (*found)->arrived) {
    failure_ =
        error(ErrorKind::MessageBroken, "rank {} sent rank {} data that was not requested", source, self_)
            .as(Code::InternalError);
    return true;
  }
  RecvRequest& request = **found;
  if (!is_copied(in, arrival, request.data + request.arrived)) return false;
  if (!stayed_intact(source, in, arrival)) return true;
  request.arrived += arrival.bytes;
  in.came[kBySlots] += arrival.bytes;
  if (request.arrived < request.bytes) return true;
  all_arrived(in, request);
  in.receiving.erase(found);
  return true;
}

std::shared_ptr<RecvRequest> PointToPoint::match_posted(int source, const Header& header) {
  const auto found = std::find_if(posted_.begin(), posted_.end(), [&](const auto& request) {
    return (request->peer == kAny || request->peer == source) &&
           (request->tag == kAny || request->tag == header.tag);
  });
  if (found == posted_.end()) return nullptr;
  const auto request = *found;
  posted_.erase(found);
  return request;
}

bool PointToPoint::fits(int source, const Header& header, const RecvRequest& request) {
  const bool long_enough = !request.exact || header.total_bytes == request.capacity;
  if (header.type_bytes == request.type_bytes && header.total_bytes <= request.capacity && long_enough)
    return true;
  failure_ = error(ErrorKind::RanksDisagree, "ranks disagree: rank {} called {}; rank {} called {}", source,
                   text_of(header.total_bytes, header.type_bytes, "send", self_, header.tag), self_,
                   text_of(request.capacity, request.type_bytes, "recv", request.peer, request.tag));
  return false;
}

/// Fills in the request, with the data if the message is eager.
void PointToPoint::receive(RecvRequest& request, int source, const Header& header, const std::byte* data) {
  request.source = source;
  request.got_tag = header.tag;
  request.bytes = header.total_bytes;
  request.done = header.kind == Header::MessageKind::Eager;
  if (request.done && request.bytes != 0 && data != request.data)
    std::memcpy(request.data, data, request.bytes);
}

/// Receives an eager message; fetches or grants an announced one.
void PointToPoint::deliver(const std::shared_ptr<RecvRequest>& request, const Message& message,
                           const std::byte* data) {
  request->number = message.number;
  receive(*request, message.source, message.header, data);
  if (request->done) return;
  Incoming& in = in_[message.source];
  request->id = message.header.id;
  request->offer = message.header.offer;
  const bool is_offered = request->offer != 0 && in.connection->zero_copy() != nullptr;
  if (is_offered && chooses_to_fetch(in, *request)) {
    in.fetching.push_back(request);
    return;
  }
  in.receiving.push_back(request);
  in.grants.push_back(message.header.id);
}

}  // namespace rondo
