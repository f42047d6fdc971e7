// SPDX-License-Identifier: Apache-2.0
// The sending half of a queue pair, which acts on the memory of both ends.
#include <algorithm>
#include <utility>

#include "memory.h"
#include "verdict.h"

namespace rondo::fabric {
namespace {

constexpr uint32_t kMaxPiece = 64 * 1024;
constexpr size_t kWindow = 4;  // messages on their way; 1 without a seed
constexpr uint64_t kMaxPause_ns = 1'000'000;
constexpr uint64_t kMaxLate_ns = 1'000'000;  // of an acknowledgement
constexpr uint64_t kTimeoutUnit_ns = 4096;
constexpr uint64_t kAgain_ns = 10'000'000;  // where the time-out is 0, which means none
constexpr uint8_t kEndless = 7;             // rnr_retry

/// By code, in units of 10 us.
constexpr uint32_t kRnrTimer[32] = {
    65'536, 1,   2,   3,   4,    6,    8,    12,   16,   24,   32,   48,     64,     96,     128,    192,
    256,    384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12'288, 16'384, 24'576, 32'768, 49'152};

/// Pieces are taken from the back.
void cut(QueuePair& pair, Message& message) {
  message.pieces.clear();
  const uint32_t most = pair.draws ? std::clamp(message.bytes / 4, 64U, kMaxPiece) : kMaxPiece;
  for (uint32_t left = message.bytes; left > 0;) {
    const uint32_t part = pair.draws ? static_cast<uint32_t>(1 + pair.draws.below(most)) : kMaxPiece;
    const uint32_t bytes = std::min(part, left);
    left -= bytes;
    message.pieces.push_back({left, bytes});
  }
}

Injected injected(Connection& connection) {
  const uint64_t number = ++connection.messages;
  const Settings& settings = connection.settings;
  if (settings.faults.empty()) return Injected::None;
  if (settings.fails("rnr", number)) return Injected::Rnr;
  if (settings.fails("retry", number)) return Injected::Lost;
  if (settings.fails("access", number)) return Injected::Access;
  if (settings.fails("flush", number)) return Injected::Flush;
  if (settings.fails("overrun", number)) return Injected::Overrun;
  return Injected::None;
}

Message message_of(QueuePair& pair) {
  Message message;
  message.request = &pair.sends->at(pair.sent);
  message.done = ++pair.sent;
  message.bytes = static_cast<uint32_t>(length_of(*message.request));
  return message;
}

void pull(QueuePair& pair) {
  pair.seen = pair.sends->head.load(std::memory_order_acquire);
  while (pair.sent != pair.seen && pair.active.size() < (pair.draws ? kWindow : 1)) {
    Message message = message_of(pair);
    message.injected = injected(pair.connection);
    cut(pair, message);
    pair.active.push_back(std::move(message));
  }
}

/// What the other end did not acknowledge is sent again, from its start.
void restart(QueuePair& pair) {
  for (Message& message : pair.active) cut(pair, message);
}

/// Whatever is posted while in ERR.
bool flush(Fabric& fabric, QueuePair& pair) {
  pair.seen = pair.sends->head.load();
  pair.seen_receives = pair.receives->head.load();
  const bool any = pair.sent != pair.seen || pair.received != pair.seen_receives;
  while (pair.sent != pair.seen) complete_send(fabric, pair, message_of(pair), IBV_WC_WR_FLUSH_ERR);
  while (pair.received != pair.seen_receives) complete_receive(fabric, pair, nullptr, IBV_WC_WR_FLUSH_ERR);
  return any;
}

/// The sender learns what has landed.
void acknowledge(Fabric& fabric, QueuePair& pair) {
  for (const Message& message : std::exchange(pair.unacknowledged, {}))
    complete_send(fabric, pair, message, IBV_WC_SUCCESS);
}

/// Returns whether there may be more to do at once.
bool acknowledge_sometimes(Fabric& fabric, QueuePair& pair) {
  if (pair.unacknowledged.empty() || fabric.now_ns < pair.acknowledge_ns) return false;
  if (pair.draws.one_in(4)) acknowledge(fabric, pair);
  return true;
}

/// With a seed acknowledgements are late, and come for several messages at once.
void complete_landed(Fabric& fabric, QueuePair& pair, const Message& message) {
  if (!pair.draws) return complete_send(fabric, pair, message, IBV_WC_SUCCESS);
  pair.unacknowledged.push_back(message);
  if (pair.draws.one_in(16)) pair.acknowledge_ns = fabric.now_ns + pair.draws.below(kMaxLate_ns);
}

/// The oldest message fails, and with it the queue pair.
void fail(Fabric& fabric, QueuePair& pair, ibv_wc_status status) {
  acknowledge(fabric, pair);
  const Message failed = std::move(pair.active.front());
  pair.active.pop_front();
  complete_send(fabric, pair, failed, status);
  to_error(fabric, pair);
}

void fail_responder(Fabric& fabric, const Verdict& verdict) {
  QueuePair& peer = *verdict.peer;
  if (peer.state != IBV_QPS_RTR && peer.state != IBV_QPS_RTS) return;
  if (verdict.receive_status != IBV_WC_SUCCESS)
    complete_receive(fabric, peer, nullptr, verdict.receive_status);
  to_error(fabric, peer);
  send_event(peer.connection, verdict.event, peer.owner);
}

void lose(Fabric& fabric, QueuePair& pair) {
  const bool has_timeout = pair.attr.timeout != 0;
  pair.is_lost = has_timeout;
  pair.wake_ns = fabric.now_ns + (has_timeout ? kTimeoutUnit_ns << pair.attr.timeout : kAgain_ns);
}

/// After a time-out. False: it was the last one.
bool retry(Fabric& fabric, QueuePair& pair) {
  pair.is_lost = false;
  if (pair.retries_left == 0) {
    fail(fabric, pair, IBV_WC_RETRY_EXC_ERR);
    return false;
  }
  --pair.retries_left;
  restart(pair);
  return true;
}

void wait_for_receive(Fabric& fabric, QueuePair& pair, const QueuePair& peer) {
  if (pair.attr.rnr_retry != kEndless && pair.rnr_left-- == 0) {
    fail(fabric, pair, IBV_WC_RNR_RETRY_EXC_ERR);
    return;
  }
  pair.wake_ns = fabric.now_ns + uint64_t{kRnrTimer[peer.attr.min_rnr_timer]} * 10'000;
  restart(pair);
}

Piece take_piece(QueuePair& pair, Message& message) {
  if (pair.draws) std::swap(message.pieces[pair.draws.below(message.pieces.size())], message.pieces.back());
  const Piece piece = message.pieces.back();
  message.pieces.pop_back();
  return piece;
}

/// Carries a piece between the memories. False: a page that should come on demand is not there.
bool transfer(QueuePair& pair, QueuePair& peer, const Message& message, const Piece& piece) {
  static std::byte bytes[kMaxPiece];
  const WorkRequest& request = *message.request;
  if (message.is_send())
    return gather(pair, request, piece.offset, bytes, piece.bytes) &&
           scatter(peer, peer.receives->at(peer.received), piece.offset, bytes, piece.bytes);
  const uint64_t at = request.remote_addr + piece.offset;
  Region* const region = find_remote(peer.connection, peer.pd, request.rkey, at, piece.bytes, 0);
  if (message.is_read()) land(peer.connection);
  if (message.is_read())
    return read(peer.connection, *region, at, bytes, piece.bytes) &&
           scatter(pair, request, piece.offset, bytes, piece.bytes);
  return gather(pair, request, piece.offset, bytes, piece.bytes) &&
         write(peer.connection, *region, at, bytes, piece.bytes);
}

/// The oldest message has landed. A queue pair may be its own peer, and a completion may end it.
void finish(Fabric& fabric, QueuePair& pair, QueuePair& peer) {
  const Message message = std::move(pair.active.front());
  pair.active.pop_front();
  pair.next_psn += packets(pair, message);
  peer.expected_psn += packets(pair, message);
  pair.rnr_left = pair.attr.rnr_retry;
  complete_landed(fabric, pair, message);
  if (message.takes_receive() && peer.state != IBV_QPS_ERR)
    complete_receive(fabric, peer, &message, IBV_WC_SUCCESS);
}

void proceed(Fabric& fabric, QueuePair& pair, size_t index, const Verdict& verdict) {
  Message& message = pair.active[index];
  message.is_accepted = true;
  pair.retries_left = pair.attr.retry_cnt;
  if (message.pieces.empty()) return finish(fabric, pair, *verdict.peer);
  if (!transfer(pair, *verdict.peer, message, take_piece(pair, message)))
    fail(fabric, pair, IBV_WC_LOC_PROT_ERR);
}

void act(Fabric& fabric, QueuePair& pair, const Verdict& verdict) {
  switch (verdict.kind) {
    case Verdict::Ok: return proceed(fabric, pair, 0, verdict);
    case Verdict::Lost: return lose(fabric, pair);
    case Verdict::Rnr: return wait_for_receive(fabric, pair, *verdict.peer);
    case Verdict::Local: return fail(fabric, pair, verdict.status);
    case Verdict::Remote: fail(fabric, pair, verdict.status); return fail_responder(fabric, verdict);
  }
}

}  // namespace

void to_error(Fabric& fabric, QueuePair& pair) {
  if (pair.state == IBV_QPS_ERR) return;
  pair.state = IBV_QPS_ERR;
  pair.receives->is_flushing.store(1);
  for (const Message& message : std::exchange(pair.unacknowledged, {}))
    complete_send(fabric, pair, message, IBV_WC_WR_FLUSH_ERR);
  const std::deque<Message> active = std::move(pair.active);
  pair.active.clear();
  for (const Message& message : active) complete_send(fabric, pair, message, IBV_WC_WR_FLUSH_ERR);
  flush(fabric, pair);
}

bool advance(Fabric& fabric, QueuePair& pair) {
  if (pair.state == IBV_QPS_ERR) return flush(fabric, pair);
  if (pair.state != IBV_QPS_RTS) return false;
  const bool is_busy = acknowledge_sometimes(fabric, pair);
  pull(pair);
  if (pair.active.empty() || fabric.now_ns < pair.wake_ns) return is_busy;
  if (pair.is_lost && !retry(fabric, pair)) return true;
  if (pair.draws.one_in(3)) return true;
  if (pair.draws.one_in(64)) pair.wake_ns = fabric.now_ns + pair.draws.below(kMaxPause_ns);
  const Injected injected = pair.active.front().injected;
  if (injected == Injected::Flush || injected == Injected::Overrun) {
    if (injected == Injected::Overrun) overrun(fabric, pair.send_cq);
    to_error(fabric, pair);
    send_event(pair.connection, IBV_EVENT_QP_FATAL, pair.owner);
    return true;
  }
  const size_t index = pair.draws.below(pair.active.size());
  const bool overtakes = index != 0 && may_overtake(fabric, pair, index);
  const Verdict verdict = judge(fabric, pair, pair.active[overtakes ? index : 0], !overtakes);
  if (!overtakes)
    act(fabric, pair, verdict);
  else if (verdict.kind == Verdict::Ok)
    proceed(fabric, pair, index, verdict);
  return true;
}

}  // namespace rondo::fabric
