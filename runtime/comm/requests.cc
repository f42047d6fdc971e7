// SPDX-License-Identifier: Apache-2.0
#include "comm/requests.h"

#include <algorithm>
#include <optional>

#include "base/backoff.h"
#include "base/clock.h"
#include "base/error_kinds.h"
#include "base/quiet_thread.h"
#include "comm/group.h"
#include "comm_progress.h"
#include "message_trace.h"
#include "turn.h"

namespace rondo {
namespace {

using Send = std::shared_ptr<SendRequest>;
using Receive = std::shared_ptr<RecvRequest>;

/// The messages that are not done. Adds to `unsent` the sends among them of which not all has left; an eager
/// one leaves whatever its receiver does.
PendingMessages unfinished(std::span<const GroupOp> ops, MessageNotes& unsent) {
  const std::lock_guard lock(ops.front().communicator->messages().mutex());
  PendingMessages messages;
  for (const GroupOp& op : ops) {
    const Send* const send = std::get_if<Send>(&op.what);
    if (send != nullptr && !(*send)->done) {
      messages.sends.add({(*send)->peer, (*send)->tag});
      if (!(*send)->eager) unsent.add({(*send)->peer, (*send)->tag});
    }
    const Receive* const receive = std::get_if<Receive>(&op.what);
    if (receive != nullptr && !(*receive)->done) messages.receives.add({(*receive)->peer, (*receive)->tag});
  }
  return messages;
}

}  // namespace

class Request {
 public:
  explicit Request(GroupOp asked) : own_(std::move(asked)), ops_(&own_, 1) {}
  explicit Request(std::span<const GroupOp> prepared) : ops_(prepared), over_(true), reported_(true) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

 private:
  friend class Requests;

  Communicator& communicator() const { return *ops_.front().communicator; }
  /// Nothing but the last line changes more than this object, and that cannot fail.
  void begin() {
    streams_.emplace();
    progress_.emplace(communicator(), ops_, *streams_);
    over_ = reported_ = is_stuck_ = false;
    const auto is_call = [](const GroupOp& op) { return std::holds_alternative<Call>(op.what); };
    if (std::ranges::any_of(ops_, is_call)) turn_ = Turn{&communicator(), communicator().take_turn()};
  }
  bool has_turn() const { return !turn_ || turn_->communicator->is_turn(turn_->number); }

  GroupOp own_;  // of a request that is not a prepared one
  std::span<const GroupOp> ops_;
  // The communicator may be gone when a request that is over is waited for.
  bool oversubscribed_ = !ops_.empty() && communicator().oversubscribed();
  std::optional<MessageStreams> streams_;
  std::optional<CommProgress> progress_;
  std::optional<Turn> turn_;          // of calls, from the start to the end
  std::atomic<bool> claimed_{false};  // if it is a prepared one
  bool is_stuck_ = false;             // it has not moved in the latest pass
  // Written with the mutex of Requests held:
  std::atomic<bool> over_{false};
  bool reported_ = false;  // its result was returned or told
  Status status_;
  std::vector<std::function<void(const Status&)>> told_;
};

std::shared_ptr<Request> Requests::start(GroupOp op) {
  auto request = std::make_shared<Request>(std::move(op));
  start(request);
  return request;
}

std::shared_ptr<Request> Requests::prepare(std::span<const GroupOp> ops) {
  return std::make_shared<Request>(ops);
}

Status Requests::claim(Request& request) {
  if (!request.claimed_.exchange(true, std::memory_order_acquire)) [[likely]]
    return {};
  return Status(ErrorKind::RequestUsage,
                "the prepared calls are under way, or have not been waited for since they were started");
}

/// Pairs with claim()'s acquire, on whatever thread.
void Requests::unclaim(Request& request) { request.claimed_.store(false, std::memory_order_release); }

Status Requests::retire(Request& request) {
  const std::lock_guard lock(mutex_);
  const bool is_unreported = request.over_ && !request.reported_;
  if (!request.claimed_.exchange(true) || is_unreported) return {};
  return Status(ErrorKind::RequestUsage, "the prepared calls are under way: wait for them first");
}

void Requests::start(const std::shared_ptr<Request>& request) {
  News news;
  {
    const std::lock_guard lock(mutex_);
    begin(request, news);
  }
  spread(news);
}

void Requests::begin(const std::shared_ptr<Request>& request, News& news) {
  if (request->ops_.empty()) {
    request->reported_ = false;
    end(*request, {}, news);
    return;
  }
  under_way_.push_back(request);
  try {
    request->begin();
  } catch (...) {
    under_way_.pop_back();
    throw;
  }
  advance(news);
  if (!request->over_ && !thread_.joinable()) start_thread(news);
  if (!request->over_) changed_.notify_all();
}

/// On failure the request fails: without a thread, it would make no progress unless a caller waits.
void Requests::start_thread(News& news) {
  auto started = try_quiet_thread("rondo-requests", [this] { loop(); });
  if (started.ok()) {
    thread_ = started.take();
    return;
  }
  const auto request = under_way_.back();
  under_way_.pop_back();
  request->progress_->abandon();
  const Status why = request->communicator().membership().fail(started.status());
  if (request->turn_) await(*request->turn_);  // of calls on queues, which fail too
  end(*request, why, news);
}

Status Requests::wait(Request& request, int64_t timeout_ms) {
  const Deadline deadline = Deadline::in_ms(timeout_ms);
  Backoff backoff(request.oversubscribed_, [&](int64_t ns) { sleep_for(ns, &request); });
  News news;
  std::unique_lock lock(mutex_);
  ++waiting_;
  while (!request.over_) {
    const bool moved = advance(news);
    if (request.over_) break;
    lock.unlock();
    spread(std::exchange(news, {}));
    const bool is_due = moved ? backoff.moved() : backoff.wait();
    lock.lock();
    if (is_due) look(&request);
    if ((is_due || moved) && timeout_ms != 0 && deadline.passed()) break;
  }
  if (request.over_)
    report(request);
  else
    request.progress_->hide_messages();
  if (--waiting_ == 0 && !under_way_.empty()) changed_.notify_all();
  const Status status = request.over_ ? request.status_ : Status(Code::InProgress, "it is not complete yet");
  lock.unlock();
  spread(news);
  return status;
}

Status Requests::query(Request& request) {
  // Without the mutex, which a thread holds as long as calls move.
  if (!request.over_) return Status(Code::InProgress, "it is not complete yet");
  const std::lock_guard lock(mutex_);
  if (!request.over_) return Status(Code::InProgress, "it was started again");
  report(request);
  return request.status_;
}

void Requests::tell(Request& request, Told told) {
  Status status;
  {
    const std::lock_guard lock(mutex_);
    if (!request.over_) {
      request.told_.push_back(std::move(told));
      return;
    }
    report(request);
    status = request.status_;
  }
  told(status);
}

MessageNotes Requests::close() {
  News news;
  MessageNotes unsent;
  {
    std::unique_lock lock(mutex_);
    while (advance(news)) {
    }  // completes what peers have received by now
    closed_ = true;
    for (const auto& request : std::exchange(under_way_, {})) {
      const Status why =
          error(ErrorKind::MessageUnfinished, "the communicator ended before the message was complete: {}",
                describe(unfinished(request->ops_, unsent)));
      request->progress_->abandon();
      request->progress_->hide_messages();
      end(*request, request->communicator().membership().recorder().named(why), news);
    }
    changed_.notify_all();
    // Sleepers use what is about to go away; each sleep is short.
    changed_.wait(lock, [this] { return sleeping_ == 0; });
  }
  spread(news);
  if (thread_.joinable()) thread_.join();
  return unsent;
}

/// True if there was progress.
bool Requests::advance(News& news) {
  bool moved = false;
  for (auto at = under_way_.begin(); at != under_way_.end();) {
    Request& request = **at;
    if (!request.has_turn()) {
      ++at;
      continue;
    }
    CommProgress& progress = *request.progress_;
    if (!progress.over()) {
      request.is_stuck_ = progress.advance() == Progress::Stuck;
      moved = moved || !request.is_stuck_;
    }
    if (!progress.over()) {
      ++at;
      continue;
    }
    if (progress.status().ok())
      for (const GroupOp& op : request.ops_) op.finish();
    const auto ended = *at;  // a prepared one may be started again, and freed, as soon as its result is told
    at = under_way_.erase(at);
    end(*ended, ended->progress_->status(), news);
  }
  return moved;
}

void Requests::look(const Request* awaited) {
  for (const auto& request : under_way_)
    if (request->has_turn() && request->is_stuck_) request->progress_->look(request.get() == awaited);
}

void Requests::end(Request& request, const Status& status, News& news) {
  request.status_ = status;
  for (const GroupOp& op : request.ops_) trace(op, status);
  if (!request.told_.empty()) report(request);
  for (Told& told : std::exchange(request.told_, {})) news.emplace_back(std::move(told), status);
  request.over_ = true;
  if (const auto turn = std::exchange(request.turn_, {})) turn->communicator->end_turn(turn->number);
}

/// A prepared request may be started again once its result has been returned or told.
void Requests::report(Request& request) {
  if (!std::exchange(request.reported_, true)) unclaim(request);
}

void Requests::spread(const News& news) {
  for (const auto& [told, status] : news) told(status);
}

/// Sleeps until the request, or else the first one, may progress. Other threads may use Requests meanwhile.
void Requests::sleep_for(int64_t ns, Request* request) {
  std::unique_lock lock(mutex_);
  if (under_way_.empty()) return;
  Request& awaited_for = request != nullptr ? *request : *under_way_.front();
  if (awaited_for.over_) return;
  const Awaited awaited = awaited_for.has_turn() ? awaited_for.progress_->awaited() : Awaited();
  ++sleeping_;
  lock.unlock();
  park(awaited, ns);
  lock.lock();
  if (--sleeping_ == 0 && closed_) changed_.notify_all();
}

/// No caller waits for these requests, so the thread does not spin.
void Requests::loop() {
  std::unique_lock lock(mutex_);
  Backoff backoff(true, [this](int64_t ns) { sleep_for(ns); });
  News news;
  while (!closed_) {
    if (under_way_.empty() || waiting_ != 0) {
      changed_.wait(lock);
      continue;
    }
    const bool moved = advance(news);
    lock.unlock();
    spread(std::exchange(news, {}));
    const bool is_due = moved ? backoff.moved() : backoff.wait();
    lock.lock();
    if (is_due && waiting_ == 0) look(nullptr);
  }
}

}  // namespace rondo
