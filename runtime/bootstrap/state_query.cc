// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/state_query.h"

#include <algorithm>

#include "base/clock.h"
#include "base/error_kinds.h"
#include "bootstrap/session.h"
#include "net/framed_socket.h"

namespace rondo {

PeerState PeerState::of(const FlightRecorder& recorder, int asker) {
  PeerState activity;
  activity.known = 1;
  activity.finished = recorder.finished() ? 1 : 0;
  activity.quiesced = recorder.quiesced() ? 1 : 0;
  activity.latest = recorder.latest();  // read after `finished`: if that is set, this is the last call
  activity.inside = recorder.inside() ? 1 : 0;
  activity.waiting_for = recorder.waiting_for();
  if (const int64_t moved_ns = recorder.moved_ns(); moved_ns != 0)
    activity.moved_ms = static_cast<uint32_t>(std::max<int64_t>(now_ns() - moved_ns, 0) / 1'000'000);
  activity.sent = recorder.sent_to(asker);
  for (uint32_t i = 0; i < kCalls && i < activity.latest; ++i) {
    const uint32_t sequence = activity.latest - i;
    activity.calls[sequence % kCalls] = recorder.call(sequence).value_or(Signature());
  }
  activity.messages = recorder.messages();
  return activity;
}

std::optional<Signature> PeerState::call(uint32_t sequence) const {
  const Signature& kept = calls[sequence % kCalls];
  return sequence != 0 && kept.sequence == sequence ? std::optional(kept) : std::nullopt;
}

int PeerState::waits_for() const {
  if (inside != 0) return waiting_for;
  return messages.none() ? -1 : messages.peer();
}

Result<PeerStates> inquire(Session& session, int rank, uint64_t communicator, const Deadline& deadline,
                           const Interrupt& interrupt) {
  const ConnectRequest purpose{.kind = ConnectKind::Inquiry, .communicator = communicator};
  RONDO_TRY_ASSIGN(const Fd fd, session.dial(rank, session.route_to(rank), purpose, deadline, interrupt));
  const Result<ControlMessage> message = receive_message(fd, deadline, interrupt);
  if (!message.ok()) {
    RONDO_TRY(interrupt());
    return message.status().as(Code::Timeout);
  }
  ByteReader reader(message.value().body);
  const auto answer = reader.get<PeerStates>();
  if (message.value().type != MessageType::Answer || !reader.ok())
    return Status(ErrorKind::MessageBroken, "a state query got a malformed answer").as(Code::InternalError);
  return answer;
}

}  // namespace rondo
