// SPDX-License-Identifier: Apache-2.0
#include "comm/requests.h"

#include "base/backoff.h"
#include "base/clock.h"
#include "base/error_kinds.h"
#include "base/quiet_thread.h"
#include "comm/group.h"
#include "comm_progress.h"
#include "message_trace.h"

namespace rondo {
namespace {

using Send = std::shared_ptr<SendRequest>;
using Receive = std::shared_ptr<RecvRequest>;

PendingMessages message_of(const GroupOp& op) {
  PendingMessages message;
  if (const Send* const send = std::get_if<Send>(&op.what)) message.sends.add({(*send)->peer, (*send)->tag});
  if (const Receive* const receive = std::get_if<Receive>(&op.what))
    message.receives.add({(*receive)->peer, (*receive)->tag});
  return message;
}

/// Whether all of it has left, whatever its receiver does.
bool is_eager_send(const GroupOp& op) {
  const Send* const send = std::get_if<Send>(&op.what);
  return send != nullptr && (*send)->eager;
}

}  // namespace

class Request {
 public:
  explicit Request(GroupOp asked)
      : op_(std::move(asked)),
        oversubscribed_(op_.communicator->oversubscribed()),
        progress_(*op_.communicator, {&op_, 1}, streams_) {}
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

 private:
  friend class Requests;
  GroupOp op_;
  bool oversubscribed_;
  MessageStreams streams_;
  CommProgress progress_;
  // Guarded by the mutex of Requests:
  bool over_ = false;
  Status status_;
  std::vector<std::function<void(const Status&)>> told_;
};

std::shared_ptr<Request> Requests::start(GroupOp op) {
  auto request = std::make_shared<Request>(std::move(op));
  News news;
  {
    const std::lock_guard lock(mutex_);
    under_way_.push_back(request);
    advance(news);
    if (!request->over_ && !thread_.joinable()) start_thread(news);
    if (!request->over_) changed_.notify_all();
  }
  spread(news);
  return request;
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
  request->progress_.abandon();
  end(*request, request->op_.communicator->membership().fail(started.status()), news);
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
    if (moved) backoff.reset();
    const bool is_time = !moved && backoff.wait();
    lock.lock();
    if (is_time) look(&request);
    if (is_time && timeout_ms != 0 && deadline.passed()) break;
  }
  if (!request.over_) request.progress_.hide_messages();
  if (--waiting_ == 0 && !under_way_.empty()) changed_.notify_all();
  const Status status =
      request.over_ ? request.status_ : Status(Code::InProgress, "the message is not complete yet");
  lock.unlock();
  spread(news);
  return status;
}

Status Requests::query(Request& request) {
  const std::lock_guard lock(mutex_);
  return request.over_ ? request.status_ : Status(Code::InProgress, "the message is not complete yet");
}

void Requests::tell(Request& request, Told told) {
  {
    const std::lock_guard lock(mutex_);
    if (!request.over_) {
      request.told_.push_back(std::move(told));
      return;
    }
  }
  told(request.status_);
}

MessageNotes Requests::close() {
  News news;
  MessageNotes unsent;
  {
    std::unique_lock lock(mutex_);
    closed_ = true;
    for (const auto& request : std::exchange(under_way_, {})) {
      const PendingMessages message = message_of(request->op_);
      const Status why =
          error(ErrorKind::MessageUnfinished, "the communicator ended before the message was complete: {}",
                describe(message));
      request->progress_.abandon();
      request->progress_.hide_messages();
      if (message.sends.count != 0 && !is_eager_send(request->op_)) unsent.add(message.sends.kept[0]);
      end(*request, request->op_.communicator->membership().recorder().named(why), news);
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
    if (!request.progress_.over()) moved = request.progress_.advance() != Progress::Stuck || moved;
    if (!request.progress_.over()) {
      ++at;
      continue;
    }
    if (request.progress_.status().ok() && request.op_.finish) request.op_.finish();
    end(request, request.progress_.status(), news);
    at = under_way_.erase(at);
  }
  return moved;
}

void Requests::look(const Request* awaited) {
  for (const auto& request : under_way_) request->progress_.look(request.get() == awaited);
}

void Requests::end(Request& request, const Status& status, News& news) {
  request.over_ = true;
  request.status_ = status;
  trace(request.op_, status);
  for (Told& told : std::exchange(request.told_, {})) news.emplace_back(std::move(told), status);
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
  const Awaited awaited = awaited_for.progress_.awaited();
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
    if (moved) backoff.reset();
    const bool is_time = !moved && backoff.wait();
    lock.lock();
    if (is_time && waiting_ == 0) look(nullptr);
  }
}

}  // namespace rondo
