// SPDX-License-Identifier: Apache-2.0
#include "user_messages.h"

#include <algorithm>
#include <memory>

namespace rondo {

bool UserMessage::is_done() const {
  return std::visit([](const auto& one) { return one.done; }, request);
}

int UserMessage::peer() const {
  return std::visit([](const auto& one) { return one.peer; }, request);
}

void UserMessage::finish() const {
  if (tell != nullptr) tell(std::get<RecvRequest>(request), whom);
}

GroupOp UserMessage::op(Queue* queue, const CallPlace& place) const {
  if (const auto* send = std::get_if<SendRequest>(&request))
    return {communicator, std::make_shared<SendRequest>(*send), queue, {}, place};
  auto recv = std::make_shared<RecvRequest>(std::get<RecvRequest>(request));
  std::function<void()> finish;
  if (tell != nullptr) finish = [recv, tell = tell, whom = whom] { tell(*recv, whom); };
  return {communicator, std::move(recv), queue, std::move(finish), place};
}

/// A send may wait for a peer's receive, which may wait for a send to complete: so receives never wait for
/// sends.
Progress MessagesAtOnce::advance() {
  const std::lock_guard lock(engine_.mutex());
  const Progress sent = advance_all<SendRequest>();
  if (sent == Progress::Failed) return sent;
  const Progress received = advance_all<RecvRequest>();
  return received == Progress::Done ? sent : received;
}

bool MessagesAtOnce::may_block_others(bool oversubscribed) {
  if (!oversubscribed) return false;
  const std::lock_guard lock(engine_.mutex());
  return std::ranges::any_of(messages_, [&](const UserMessage& message) {
    return !message.is_done() && engine_.is_yielding(message.peer());
  });
}

void MessagesAtOnce::let_others_run() {
  set_yielding(true);
  Task::let_others_run();
  set_yielding(false);
}

void MessagesAtOnce::set_yielding(bool is_yielding) {
  const std::lock_guard lock(engine_.mutex());
  for (const UserMessage& message : messages_) engine_.set_yielding(message.peer(), is_yielding);
}

template <typename Request>
Progress MessagesAtOnce::advance_all() {
  for (UserMessage& message : messages_) {
    auto* request = std::get_if<Request>(&message.request);
    if (request == nullptr || request->done) continue;
    const Progress progress = engine_.try_now(*request);
    if (progress != Progress::Done) return progress;
  }
  return Progress::Done;
}

}  // namespace rondo
