#include "comm/inquiry.h"

#include "comm/message_socket.h"
#include "comm/session.h"

namespace rondo {

Activity Activity::of(const Board& board, int asker) {
  Activity activity;
  activity.known = 1;
  activity.finished = board.finished() ? 1 : 0;
  activity.latest = board.latest();  // after `finished`: then it is the last one
  activity.inside = board.inside() ? 1 : 0;
  activity.waiting_for = board.waiting_for();
  activity.sent = board.sent_to(asker);
  for (uint32_t i = 0; i < Board::kRemembered && i < activity.latest; ++i) {
    const uint32_t sequence = activity.latest - i;
    activity.calls[sequence % Board::kRemembered] = board.call(sequence).value_or(Signature());
  }
  activity.messages = board.messages();
  return activity;
}

std::optional<Signature> Activity::call(uint32_t sequence) const {
  const Signature& kept = calls[sequence % Board::kRemembered];
  return sequence != 0 && kept.sequence == sequence ? std::optional(kept) : std::nullopt;
}

int Activity::waits_for() const {
  if (inside != 0) return waiting_for;
  return messages.none() ? -1 : messages.peer();
}

Result<Activities> inquire(Session& session, int rank, uint64_t communicator, const Deadline& deadline,
                           const Interrupt& interrupt) {
  const bool same_host = session.is_on_this_host(rank);
  const Purpose purpose{.kind = PurposeKind::Inquiry, .communicator = communicator};
  RONDO_TRY_ASSIGN(const Fd fd,
                   session.dial(rank, same_host ? Route::Unix : Route::Tcp, purpose, deadline, interrupt));
  RONDO_TRY_ASSIGN(const Message message, receive_message(fd, deadline, interrupt));
  ByteReader reader(message.body);
  const auto answer = reader.get<Activities>();
  if (message.type != MessageType::Answer || !reader.ok())
    return Status(Code::RemoteError, "an inquiry got a broken answer");
  return answer;
}

}  // namespace rondo
