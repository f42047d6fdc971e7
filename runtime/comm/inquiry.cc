#include "comm/inquiry.h"

#include "comm/message_socket.h"
#include "comm/session.h"

namespace rondo {

Activity Activity::of(const Board& board, uint32_t sequence) {
  Activity activity;
  activity.known = 1;
  activity.finished = board.finished() ? 1 : 0;
  activity.latest = board.latest();  // after `finished`: then it is the last one
  activity.inside = board.inside() ? 1 : 0;
  activity.waiting_for = board.waiting_for();
  if (const auto asked = board.call(sequence)) {
    activity.has_asked = 1;
    activity.asked = *asked;
  }
  activity.last = board.call(activity.latest).value_or(Signature());
  return activity;
}

Result<Activity> inquire(Session& session, int rank, uint64_t communicator, uint32_t sequence,
                         const Deadline& deadline, const Interrupt& interrupt) {
  const bool same_host = session.member(rank).endpoint.host == session.member(session.rank()).endpoint.host;
  const Purpose purpose{.kind = PurposeKind::Inquiry, .index = sequence, .communicator = communicator};
  RONDO_TRY_ASSIGN(const Fd fd,
                   session.dial(rank, same_host ? Route::Unix : Route::Tcp, purpose, deadline, interrupt));
  RONDO_TRY_ASSIGN(const Message message, receive_message(fd, deadline, interrupt));
  ByteReader reader(message.body);
  const auto activity = reader.get<Activity>();
  if (message.type != MessageType::Answer || !reader.ok())
    return Status(Code::RemoteError, "an inquiry got a broken answer");
  return activity;
}

}  // namespace rondo
