// SPDX-License-Identifier: Apache-2.0
#include "progress_engine.h"

#include <sched.h>

#include <algorithm>
#include <vector>

#include "base/backoff.h"
#include "comm_progress.h"
#include "message_trace.h"

namespace rondo {
namespace {

/// The fast path of sends and receives of host memory: a short message is sent, and one that has arrived is
/// received, at once and without allocating a request. Takes the messages of one communicator, as long as
/// each can be done at once in its turn; fails at the first one that cannot. Messages that are not done can
/// still become GroupOps.
class MessagesAtOnce final : public Task {
 public:
  /// A message's peer often does something else.
  static constexpr int64_t kOversubscribedSpin_ns = 100;

  MessagesAtOnce(PointToPoint& engine, std::span<UserMessage> messages)
      : engine_(engine), messages_(messages), receives_(receives_of_one_source(messages)) {}

  /// A send may wait for a peer's receive, which may wait for a send to complete: so receives never wait for
  /// sends.
  Progress advance() override {
    const std::lock_guard lock(engine_.mutex());
    if (begin_sends() == Progress::Failed) return Progress::Failed;
    const Progress sent =
        advance_all<SendRequest>(sends_done_, [&](SendRequest& send) { return engine_.try_now(send); });
    if (sent == Progress::Failed) return sent;
    const Progress received = advance_all<RecvRequest>(receives_done_, [&](RecvRequest& receive) {
      const Progress progress = engine_.try_now(receive, std::max<uint64_t>(receives_, 1));
      if (progress != Progress::Done) return progress;
      if (receives_ != 0) --receives_;
      // Or two ranks that send to each other would do so one after the other.
      return receive.bytes >= PointToPoint::kMinPlaced ? Progress::Moved : progress;
    });
    return received == Progress::Done ? sent : received;
  }
  Status status() const override { return {}; }
  int blocked_on() const override { return -1; }
  /// A peer that runs on another CPU usually answers sooner than this thread would return from a yield. The
  /// kernel may put two ranks on one CPU even if there are enough.
  bool may_block_others(bool oversubscribed) override {
    if (!oversubscribed && ++looks_ % kLooksPerCpu != 0) return false;
    const std::lock_guard lock(engine_.mutex());
    const auto cpu = static_cast<uint32_t>(::sched_getcpu() + 1);
    bool is_any = false;
    for_awaited([&](int peer) { is_any = is_in_the_way(peer, cpu, oversubscribed) || is_any; });
    return is_any;
  }
  /// Tells the peers that this rank yields, so that they do not spin for it.
  void let_others_run() override {
    set_yielding(true);
    Task::let_others_run();
    set_yielding(false);
  }
  void abandon() override {
    const std::lock_guard lock(engine_.mutex());
    for (const UserMessage& message : messages_)
      std::visit([&](const auto& request) { engine_.abandon(request); }, message.request);
  }

 private:
  /// Looks between which no CPU is compared: an answer soon costs nothing.
  static constexpr uint32_t kLooksPerCpu = 8;

  /// Calls `body` with the peers of the first send and the first receive that are not done.
  template <typename Body>
  void for_awaited(Body&& body) const {
    for (const size_t at : {sends_done_, receives_done_})
      if (at != messages_.size()) body(messages_[at].peer());
  }
  bool is_in_the_way(int peer, uint32_t cpu, bool oversubscribed) {
    engine_.note_cpu(peer, cpu);
    return engine_.is_on(peer, cpu) || (oversubscribed && engine_.is_yielding(peer));
  }
  void set_yielding(bool is_yielding) {
    const std::lock_guard lock(engine_.mutex());
    for_awaited([&](int peer) { engine_.set_yielding(peer, is_yielding); });
  }
  /// How many receives there are, if all are from one source; else 0.
  static uint64_t receives_of_one_source(std::span<const UserMessage> messages) {
    uint64_t receives = 0;
    int source = -1;
    for (const UserMessage& message : messages) {
      const auto* const receive = std::get_if<RecvRequest>(&message.request);
      if (receive == nullptr || receive->done) continue;
      if (receives != 0 && receive->peer != source) return 0;
      source = receive->peer;
      ++receives;
    }
    return receives;
  }
  /// Sends do not wait for those before them to be taken.
  Progress begin_sends() {
    return advance_all<SendRequest>(sends_begun_, [&](SendRequest& send) {
      const Progress progress = send.id == 0 ? engine_.try_now(send) : Progress::Done;
      return send.id != 0 ? Progress::Done : progress;
    });
  }
  /// `done`: how many of the messages need no more looks, because they are done or of the other kind.
  template <typename Request, typename Try>
  Progress advance_all(size_t& done, const Try& try_now) {
    for (; done != messages_.size(); ++done) {
      auto* request = std::get_if<Request>(&messages_[done].request);
      if (request == nullptr || request->done) continue;
      const Progress progress = try_now(*request);
      if (progress != Progress::Done) return progress;
    }
    return Progress::Done;
  }

  PointToPoint& engine_;
  std::span<UserMessage> messages_;
  uint64_t receives_;  // left, if all are from one source; else 0
  size_t sends_begun_ = 0;
  size_t sends_done_ = 0;
  size_t receives_done_ = 0;
  uint32_t looks_ = 0;  // in vain
};

/// Polls between two yields, and yields, before a call needs the full progress loop.
constexpr int kQuickTurns = 256;
constexpr int kQuickYields = 64;
/// Polls that take microseconds altogether.
constexpr int kFewTurns = 64;

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
  for (bool all_over = false, is_due = false; !all_over;) {
    bool moved = false;
    all_over = true;
    for (CommProgress& part : parts) {
      if (part.over()) continue;
      const bool is_stuck = part.advance() == Progress::Stuck;
      if (is_stuck && is_due) part.look();
      moved = moved || !is_stuck;
      all_over = all_over && part.over();
    }
    if (!all_over) is_due = moved ? backoff.moved() : backoff.wait();
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
template <typename AnyTask>
bool is_quickly_done(Communicator& communicator, AnyTask& task) try {
  for (int yields = 0; yields < kQuickYields; ++yields) {
    OversubscribedSpin spin(communicator.oversubscribed(), AnyTask::kOversubscribedSpin_ns);
    for (int turns = 0; turns < kQuickTurns; ++turns) {
      const Progress progress = task.advance();
      if (progress == Progress::Failed) return false;
      if (progress == Progress::Done) {
        FlightRecorder& recorder = communicator.membership().recorder();
        if (yields == 0 && turns < kFewTurns)
          recorder.end_soon();
        else
          recorder.end();
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

Status run_to_completion(Communicator& communicator, const PlannedCall& call) {
  if (communicator.membership().failed()) return communicator.membership().cause();
  Task* const task = communicator.start(*call.plan, call.buffers);
  if (task == nullptr) return run_started(communicator, call.plan->failure());
  const bool may_be_quick = !call.buffers.place.on_gpu;
  return may_be_quick && is_quickly_done(communicator, *task) ? Status() : run_started(communicator, task);
}

bool is_done_at_once(UserMessage& message) {
  PointToPoint& engine = message.communicator->messages();
  const std::lock_guard lock(engine.mutex());
  auto* const send = std::get_if<SendRequest>(&message.request);
  return (send != nullptr ? engine.try_now(*send)
                          : engine.try_now(std::get<RecvRequest>(message.request), 1)) == Progress::Done;
}

Status run_to_completion(Communicator& communicator, std::span<UserMessage> messages) {
  MessagesAtOnce at_once(communicator.messages(), messages);
  if (communicator.membership().failed()) {
    at_once.abandon();  // is_done_at_once() may have posted one
    return communicator.membership().cause();
  }
  if (is_quickly_done(communicator, at_once)) [[likely]] {
    for (const UserMessage& message : messages) {
      message.finish();
      trace(message, {});
    }
    return {};
  }
  std::vector<GroupOp> left;
  for (const UserMessage& message : messages) {
    if (message.is_done()) {
      message.finish();
      trace(message, {});
    } else {
      left.push_back(message.op());
    }
  }
  return run_to_completion(left);
}

Status run_to_completion(std::span<const GroupOp> ops) try {
  const Status status = run_group(ops);
  for (const GroupOp& op : ops) {
    if (status.ok()) op.finish();
    trace(op, status);
  }
  return status;
} catch (const std::bad_alloc&) {
  return fail_all(ops);
}

}  // namespace rondo
