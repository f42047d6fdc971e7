// SPDX-License-Identifier: Apache-2.0
#include "comm/group.h"

#include <algorithm>
#include <memory>

#include "base/backoff.h"
#include "base/error_kinds.h"
#include "comm/queue.h"
#include "message_trace.h"
#include "progress_engine.h"
#include "turn.h"

namespace rondo {
namespace {

// Read by every call: the initial-exec model avoids __tls_get_addr().
#define RONDO_GROUP_STATE __attribute__((tls_model("initial-exec"))) constinit thread_local
RONDO_GROUP_STATE int group_depth = 0;
RONDO_GROUP_STATE Collected* this_threads = nullptr;

/// Avoids the guard check that each use of a thread_local with a destructor costs.
Collected& collected() {
  if (this_threads != nullptr) return *this_threads;
  thread_local Collected first_used;
  return *(this_threads = &first_used);
}

/// Serializes issues: each takes places in several queues and communicators, which must all see issues in the
/// same order, lest they deadlock.
std::mutex& issue_mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}

/// `turns` must have room for one per op: a turn that was taken must be ended, so nothing may throw here.
void take_turns(std::span<const GroupOp> ops, std::vector<Turn>& turns) noexcept {
  for (const GroupOp& one : ops) {
    Communicator* communicator = one.communicator;
    const bool has = std::any_of(turns.begin(), turns.end(),
                                 [&](const Turn& turn) { return turn.communicator == communicator; });
    if (!has) turns.push_back({communicator, communicator->take_turn()});
  }
}

struct TurnsEnd {
  std::span<const Turn> turns;
  ~TurnsEnd() {
    for (const Turn& turn : turns) const TurnEnd end{turn};
  }
};

Status carry_out(std::span<const GroupOp> ops, std::span<const Turn> turns) {
  for (const Turn& turn : turns) await(turn);
  const TurnsEnd end{turns};
  return run_to_completion(ops);
}

/// The common case: one call, or the messages of one communicator, on the caller's thread.
template <typename What>
Status issue_here(Communicator& communicator, const What& what) {
  const Turn turn{&communicator, communicator.take_turn()};
  await(turn);
  const TurnEnd end{turn};
  return run_to_completion(communicator, what);
}

/// The same for one message, which usually is done at once.
Status issue(UserMessage& message) try {
  Communicator& communicator = *message.communicator;
  const Turn turn{&communicator, communicator.take_turn()};
  await(turn);
  const TurnEnd end{turn};
  if (!communicator.membership().failed() && is_done_at_once(message)) [[likely]] {
    message.finish();
    trace(message, {});
    return {};
  }
  return run_to_completion(communicator, std::span(&message, 1));
} catch (const std::bad_alloc&) {
  return message.communicator->membership().fail(out_of_memory());
}

/// What queues keep of a group until its turns come.
struct QueuedGroup {
  std::vector<GroupOp> ops;
  std::vector<Turn> turns;
};

Status issue_on_queues(const std::vector<Queue*>& queues, std::vector<GroupOp>& ops, bool waits) {
  const auto group = std::make_shared<QueuedGroup>();
  group->turns.reserve(ops.size());
  QueueMeeting meeting(queues, [group] { return carry_out(group->ops, group->turns); });
  {
    std::lock_guard lock(issue_mutex());
    take_turns(ops, group->turns);
    group->ops = std::move(ops);
    meeting.push();
  }
  return waits ? meeting.wait() : Status();
}

Status issue(std::vector<GroupOp> ops) try {
  std::vector<Queue*> queues;
  bool waits = false;
  for (const GroupOp& one : ops) {
    if (one.queue == nullptr)
      waits = true;
    else if (std::find(queues.begin(), queues.end(), one.queue) == queues.end())
      queues.push_back(one.queue);
  }
  if (!queues.empty()) return issue_on_queues(queues, ops, waits);
  std::vector<Turn> turns;
  turns.reserve(ops.size());
  take_turns(ops, turns);
  return carry_out(ops, turns);
} catch (const std::bad_alloc&) {
  return fail_all(ops);
}

Status issue(std::span<UserMessage> messages) try {
  Communicator* communicator = messages.front().communicator;
  const bool is_of_one = std::all_of(messages.begin(), messages.end(), [&](const UserMessage& message) {
    return message.communicator == communicator;
  });
  if (is_of_one) return issue_here(*communicator, messages);
  std::vector<GroupOp> ops;
  for (const UserMessage& message : messages) ops.push_back(message.op());
  return issue(std::move(ops));
} catch (const std::bad_alloc&) {
  return fail_all(messages);
}

/// Reuses the vector's memory for the next group.
Status issue_collected_messages() {
  std::vector<UserMessage>& collects = collected().messages;
  std::vector<UserMessage> messages = std::exchange(collects, {});
  const Status status = issue(std::span(messages));
  messages.clear();
  if (collects.empty()) collects = std::move(messages);
  return status;
}

}  // namespace

bool UserMessage::is_done() const {
  return std::visit([](const auto& one) { return one.done; }, request);
}

int UserMessage::peer() const {
  return std::visit([](const auto& one) { return one.peer; }, request);
}

void GroupOp::finish() const {
  if (tell != nullptr) tell(*std::get<std::shared_ptr<RecvRequest>>(what), whom);
}

void UserMessage::finish() const {
  if (tell != nullptr) tell(std::get<RecvRequest>(request), whom);
}

GroupOp UserMessage::op(Queue* queue, const CallPlace& place) const {
  if (const auto* send = std::get_if<SendRequest>(&request))
    return {.communicator = communicator,
            .what = std::make_shared<SendRequest>(*send),
            .queue = queue,
            .place = place};
  return {.communicator = communicator,
          .what = std::make_shared<RecvRequest>(std::get<RecvRequest>(request)),
          .queue = queue,
          .tell = tell,
          .whom = whom,
          .place = place};
}

void group_start() { ++group_depth; }

Status group_end() {
  if (group_depth == 0)
    return Status(ErrorKind::GroupUsage, "rondo_group_end() without a rondo_group_start() on this thread");
  if (--group_depth != 0) return {};
  if (!collected().refusal.ok())
    return std::exchange(collected(), {}).refusal.within("a call of the group was refused, so none was made");
  if (!collected().messages.empty()) return issue_collected_messages();
  return issue(std::exchange(collected().ops, {}));
}

Result<Collected> group_take() {
  if (group_depth == 0)
    return Status(ErrorKind::GroupUsage,
                  "rondo_group_prepare() without a rondo_group_start() on this thread");
  if (group_depth != 1)
    return Status(ErrorKind::GroupUsage,
                  "rondo_group_prepare() is not allowed within a group: it would prepare a part of that one");
  group_depth = 0;
  Collected taken = std::exchange(collected(), {});
  if (taken.refusal.ok()) return taken;
  return taken.refusal.within("a call of the group was refused, so none was prepared");
}

Status group_cancel() {
  if (group_depth == 0)
    return Status(ErrorKind::GroupUsage, "rondo_group_cancel() without a rondo_group_start() on this thread");
  group_depth = 0;
  collected() = {};
  return {};
}

void note_refusal(Status why) {
  if (group_depth != 0 && collected().refusal.ok()) collected().refusal = std::move(why);
}

Status submit(Communicator& communicator, const CallRequest& request, Queue* queue) {
  if (group_depth == 0 && queue == nullptr) {
    if (!communicator.is_idle()) RONDO_TRY(communicator.check(request).status());  // before it waits
    return issue_here(communicator, request);
  }
  RONDO_TRY_ASSIGN(Call call, communicator.check(request));
  return submit({.communicator = &communicator, .what = std::move(call), .queue = queue});
}

Status submit(GroupOp op) {
  if (group_depth == 0) {
    std::vector<GroupOp> one;
    one.push_back(std::move(op));
    return issue(std::move(one));
  }
  auto& [ops, messages, refusal] = collected();
  for (const UserMessage& message : std::exchange(messages, {})) ops.push_back(message.op());
  ops.push_back(std::move(op));
  return {};
}

Status submit(UserMessage& message) {
  if (group_depth == 0) return issue(message);
  auto& [ops, messages, refusal] = collected();
  if (!ops.empty()) return submit(message.op());
  messages.push_back(message);
  return {};
}

bool group_has(const Communicator& communicator) {
  const auto is_its = [&](const auto& one) { return one.communicator == &communicator; };
  const auto& [ops, messages, refusal] = collected();
  return std::any_of(ops.begin(), ops.end(), is_its) || std::any_of(messages.begin(), messages.end(), is_its);
}

Status refuse_in_group(const char* what) {
  if (group_depth == 0) return {};
  return error(ErrorKind::GroupUsage, "{} is not allowed within a group: it could only be done after its end",
               what);
}

}  // namespace rondo
