// SPDX-License-Identifier: Apache-2.0
#include "progress_engine.h"

#include <algorithm>
#include <vector>

#include "base/backoff.h"
#include "comm_progress.h"
#include "user_messages.h"

namespace rondo {
namespace {

/// Polls between two yields, and yields, before a call needs the full progress loop.
constexpr int kQuickTurns = 256;
constexpr int kQuickYields = 64;

/// The first known wait target.
Awaited awaited_by(std::span<CommProgress> parts) {
  for (CommProgress& part : parts)
    if (const Awaited awaited = part.awaited(); is_known(awaited)) return awaited;
  return {};
}

/// Runs them to completion.
void run_all(std::span<CommProgress> parts) {
  bool oversubscribed = false;
  for (CommProgress& part : parts) oversubscribed = oversubscribed || part.communicator().oversubscribed();
  Backoff backoff(oversubscribed, [parts](int64_t ns) { park(awaited_by(parts), ns); });
  for (bool all_over = false; !all_over;) {
    bool moved = false;
    all_over = true;
    for (CommProgress& part : parts) {
      if (part.over()) continue;
      moved = part.advance() != Progress::Stuck || moved;
      all_over = all_over && part.over();
    }
    if (moved) {
      backoff.reset();
    } else if (backoff.wait()) {
      for (CommProgress& part : parts) part.look(backoff.waited_ns());
    }
  }
}

Status run_group(std::span<const GroupOp> ops) {
  MessageStreams streams;
  std::vector<CommProgress> parts;
  parts.reserve(ops.size());  // never reallocate: their addresses must stay valid
  for (const GroupOp& op : ops) {
    const bool known = std::any_of(parts.begin(), parts.end(), [&](CommProgress& part) {
      return &part.communicator() == op.communicator;
    });
    if (!known) parts.emplace_back(*op.communicator, ops, streams);
  }
  run_all(parts);
  for (const CommProgress& part : parts) RONDO_TRY(part.status());
  return {};
}

/// Polls inline for the common case of a short call; false if it needs the full progress loop. If ranks
/// outnumber CPUs, it yields at once to ranks that share this CPU; the others are already running.
bool is_quickly_done(Communicator& communicator, Task& task) try {
  for (int yields = 0; yields < kQuickYields; ++yields) {
    OversubscribedSpin spin(communicator.oversubscribed());
    for (int turns = 0; turns < kQuickTurns; ++turns) {
      const Progress progress = task.advance();
      if (progress == Progress::Failed) return false;
      if (progress == Progress::Done) {
        communicator.membership().recorder().end();
        return true;
      }
      if (progress != Progress::Stuck) continue;
      if (task.may_block_others(communicator.oversubscribed()) || spin.is_over()) break;
      task.poll_briefly();
    }
    if (communicator.membership().failed()) return false;
    task.let_others_run();
  }
  return false;
} catch (const std::bad_alloc&) {
  task.abandon();
  throw;
}

/// Runs a call that was started, or that failed to start.
Status run_started(Communicator& communicator, const Result<Task*>& started) {
  MessageStreams streams;
  CommProgress part(communicator, {}, streams);
  part.take_up(started);
  run_all({&part, 1});
  return part.status();
}

}  // namespace

Status run_to_completion(Communicator& communicator, const CallRequest& request) {
  if (communicator.membership().failed()) return communicator.membership().cause();
  if (Plan* const plan = communicator.find_plan(request)) {
    Task* const task = communicator.start(*plan, {request.send, request.recv});
    if (task == nullptr) return run_started(communicator, plan->failure());
    return is_quickly_done(communicator, *task) ? Status() : run_started(communicator, task);
  }
  RONDO_TRY_ASSIGN(const Call call, communicator.check(request));
  const Result<Task*> started = communicator.prepare(call);
  // GPU calls are never that quick.
  const bool may_be_quick = started.ok() && !call.place.on_gpu;
  if (may_be_quick && is_quickly_done(communicator, *started.value())) return {};
  return run_started(communicator, started);
}

Status run_to_completion(Communicator& communicator, std::span<UserMessage> messages) {
  if (communicator.membership().failed()) return communicator.membership().cause();
  MessagesAtOnce at_once(communicator.messages(), messages);
  const bool all = is_quickly_done(communicator, at_once);
  std::vector<GroupOp> left;
  for (const UserMessage& message : messages) {
    if (message.is_done())
      message.finish();
    else
      left.push_back(message.op());
  }
  return all ? Status() : run_to_completion(left);
}

Status run_to_completion(std::span<const GroupOp> ops) try {
  RONDO_TRY(run_group(ops));
  for (const GroupOp& op : ops)
    if (op.finish) op.finish();
  return {};
} catch (const std::bad_alloc&) {
  return fail_all(ops);
}

}  // namespace rondo
