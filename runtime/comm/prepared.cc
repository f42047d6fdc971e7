// SPDX-License-Identifier: Apache-2.0
#include "comm/prepared.h"

#include <algorithm>
#include <mutex>

#include "base/error_kinds.h"
#include "health/trace.h"
#include "message_trace.h"
#include "progress_engine.h"
#include "turn.h"

namespace rondo {
namespace {

using Send = std::shared_ptr<SendRequest>;
using Receive = std::shared_ptr<RecvRequest>;

/// A message that has not been started, as its caller requested it.
UserMessage message_of(const GroupOp& op) {
  UserMessage message{.communicator = op.communicator, .request = {}, .tell = op.tell, .whom = op.whom};
  if (const Send* const send = std::get_if<Send>(&op.what))
    message.request = **send;
  else
    message.request = *std::get<Receive>(op.what);
  return message;
}

void note_begin(UserMessage& message) {
  std::visit([](auto& request) { request.began_ns = trace_now_ns(); }, message.request);
}

/// Reuses the request of an earlier start if it was its only user: those of GPU memory may have others for a
/// while.
template <typename Request>
void renew(std::shared_ptr<Request>& request, const UserMessage& message, const CallPlace& place) {
  const Request& asked = std::get<Request>(message.request);
  if (place.on_gpu)
    request = std::make_shared<Request>(asked);
  else
    *request = asked;
  request->began_ns = trace_now_ns();
}

}  // namespace

Prepared::Prepared(Collected group) : ops_(std::move(group.ops)), is_plain_(ops_.empty()) {
  for (const UserMessage& message : group.messages) ops_.push_back(message.op());
  for (const GroupOp& op : ops_) {
    if (std::holds_alternative<Call>(op.what))
      has_calls_ = true;
    else
      messages_.push_back(message_of(op));
  }
  request_ = Requests::prepare(ops_);
  if (ops_.empty()) {
    requests_ = std::make_shared<Requests>();
    return;
  }
  communicator_ = ops_.front().communicator;
  membership_ = communicator_->shared_membership();
  requests_ = has_calls_ ? communicator_->started_calls() : communicator_->requests();
}

Result<std::shared_ptr<Prepared>> Prepared::take_group() {
  RONDO_TRY_ASSIGN(Collected group, group_take());
  auto made = std::make_shared<Prepared>(std::move(group));
  RONDO_TRY(made->check_calls());
  if (made->has_calls_) RONDO_TRY(made->plan(made));
  if (!made->messages_.empty()) RONDO_TRY(made->reach_peers());
  return made;
}

Status Prepared::check_calls() const {
  for (const GroupOp& op : ops_) {
    if (op.communicator != communicator_)
      return Status(ErrorKind::RequestUsage,
                    "the calls of a prepared group must be on one communicator: prepare a group for each");
    const Call* const call = std::get_if<Call>(&op.what);
    if (op.queue != nullptr || op.place.on_stream || (call != nullptr && call->place.on_stream))
      return Status(ErrorKind::RequestUsage,
                    "the stream of a prepared call must be NULL: the request says when it is done");
  }
  return {};
}

Status Prepared::plan(const std::shared_ptr<const void>& self) {
  const Turn turn{communicator_, communicator_->take_turn()};
  const TurnEnd end{turn};
  await(turn);
  RONDO_TRY(membership_->cause());
  for (GroupOp& op : ops_) {
    if (const Call* const call = std::get_if<Call>(&op.what)) {
      RONDO_TRY_ASSIGN(op.plan, communicator_->keep_plan(*call, self));
      if (ops_.size() == 1) only_call_ = PlannedCall{op.plan, {call->send, call->recv, call->place}};
    }
  }
  return {};
}

/// Begins to connect, and waits for no peer.
Status Prepared::reach_peers() {
  PointToPoint& engine = communicator_->messages();
  const std::lock_guard lock(engine.mutex());
  for (const UserMessage& message : messages_)
    RONDO_TRY(std::visit([&](const auto& request) { return engine.reach(request); }, message.request));
  return {};
}

Status Prepared::why_not() const {
  if (ops_.empty()) return {};
  if (membership_->failed()) return membership_->cause();
  if (!requests_->is_closed()) [[likely]]
    return {};
  return Status(
      ErrorKind::CommFinished,
      "the communicator of the prepared calls was finalized; only rondo_request_free() is allowed now");
}

Status Prepared::out_of_memory_failure() {
  Requests::unclaim(*request_);
  return membership_ != nullptr ? membership_->fail(out_of_memory()) : out_of_memory();
}

/// The messages as they are at a start.
void Prepared::renew() {
  auto message = messages_.begin();
  for (GroupOp& op : ops_) {
    if (auto* const send = std::get_if<Send>(&op.what)) rondo::renew(*send, *message++, op.place);
    if (auto* const receive = std::get_if<Receive>(&op.what)) rondo::renew(*receive, *message++, op.place);
  }
}

Status Prepared::run_now() {
  if (ops_.empty()) return {};
  const Turn turn{communicator_, communicator_->take_turn()};
  const TurnEnd end{turn};
  await(turn);
  if (only_call_.plan != nullptr) return run_to_completion(*communicator_, only_call_);
  if (!is_plain_) {
    renew();
    return run_to_completion(ops_);
  }
  copies_ = messages_;
  std::ranges::for_each(copies_, note_begin);
  return run_to_completion(*communicator_, std::span(copies_));
}

Status Prepared::run() try {
  RONDO_TRY(refuse_in_group("running prepared calls"));
  RONDO_TRY(Requests::claim(*request_));
  Status status = why_not();
  if (status.ok()) status = run_now();
  Requests::unclaim(*request_);
  return status;
} catch (const std::bad_alloc&) {
  return out_of_memory_failure();
}

Status Prepared::start() try {
  RONDO_TRY(refuse_in_group("starting prepared calls"));
  RONDO_TRY(Requests::claim(*request_));
  if (Status why = why_not(); !why.ok()) {
    Requests::unclaim(*request_);
    return why;
  }
  renew();
  requests_->start(request_);
  return {};
} catch (const std::bad_alloc&) {
  return out_of_memory_failure();
}

}  // namespace rondo
