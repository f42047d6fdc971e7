#include "comm/requests.h"

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "exec/patience.h"

namespace rondo {

std::shared_ptr<Request> Requests::start(Item item) {
  auto request = std::make_shared<Request>(std::move(item));
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

/// Without it nobody would carry on what nobody waits for.
void Requests::start_thread(News& news) {
  auto started = try_quiet_thread([this] { loop(); });
  if (started.ok()) {
    thread_ = started.take();
    return;
  }
  const auto request = under_way_.back();
  under_way_.pop_back();
  request->part_.abandon();
  end(*request, request->item_.communicator->fail(started.status()), news);
}

Status Requests::wait(Request& request, int64_t timeout_ms) {
  const Deadline deadline = Deadline::in_ms(timeout_ms);
  Patience patience(request.crowded_, [&](int64_t ns) { nap(ns, &request); });
  News news;
  std::unique_lock lock(mutex_);
  ++waiting_;
  while (!request.over_) {
    const bool moved = advance(news);
    if (request.over_) break;
    lock.unlock();
    spread(std::exchange(news, {}));
    if (moved) patience.reset();
    const bool is_time = !moved && patience.wait();
    lock.lock();
    if (is_time) look(patience.waited_ns(), &request);
    if (is_time && timeout_ms != 0 && deadline.passed()) break;
  }
  if (!request.over_) request.part_.hide_messages();
  if (--waiting_ == 0 && !under_way_.empty()) changed_.notify_all();
  const Status status =
      request.over_ ? request.status_ : Status(Code::InProgress, "the message is not over yet");
  lock.unlock();
  spread(news);
  return status;
}

Status Requests::query(Request& request) {
  const std::lock_guard lock(mutex_);
  return request.over_ ? request.status_ : Status(Code::InProgress, "the message is not over yet");
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

void Requests::close() {
  News news;
  {
    std::unique_lock lock(mutex_);
    closed_ = true;
    const Status why(Code::InvalidUsage, "the communicator was ended before the message was over");
    for (const auto& request : std::exchange(under_way_, {})) {
      request->part_.abandon();
      request->part_.hide_messages();
      end(*request, request->item_.communicator->board().named(why), news);
    }
    changed_.notify_all();
    changed_.wait(lock, [this] { return napping_ == 0; });  // within a nap; what they look at goes away
  }
  spread(news);
  if (thread_.joinable()) thread_.join();
}

/// True if something moved.
bool Requests::advance(News& news) {
  bool moved = false;
  for (auto at = under_way_.begin(); at != under_way_.end();) {
    Request& request = **at;
    if (!request.part_.over()) moved = request.part_.advance() != Progress::Stuck || moved;
    if (!request.part_.over()) {
      ++at;
      continue;
    }
    if (request.part_.status().ok() && request.item_.finish) request.item_.finish();
    end(request, request.part_.status(), news);
    at = under_way_.erase(at);
  }
  return moved;
}

void Requests::look(int64_t waited_ns, const Request* awaited) {
  for (const auto& request : under_way_) request->part_.look(waited_ns, request.get() == awaited);
}

void Requests::end(Request& request, const Status& status, News& news) {
  request.over_ = true;
  request.status_ = status;
  for (Told& told : std::exchange(request.told_, {})) news.emplace_back(std::move(told), status);
}

void Requests::spread(const News& news) {
  for (const auto& [told, status] : news) told(status);
}

/// For the request, or else the first; others may come meanwhile as before.
void Requests::nap(int64_t ns, Request* request) {
  std::unique_lock lock(mutex_);
  if (under_way_.empty()) return;
  Request& awaited_for = request != nullptr ? *request : *under_way_.front();
  if (awaited_for.over_) return;
  const Awaited awaited = awaited_for.part_.awaited();
  ++napping_;
  lock.unlock();
  doze(awaited, ns);
  lock.lock();
  if (--napping_ == 0 && closed_) changed_.notify_all();
}

/// Nobody waits for what it does, so it spins for nobody.
void Requests::loop() {
  std::unique_lock lock(mutex_);
  Patience patience(true, [this](int64_t ns) { nap(ns); });
  News news;
  while (!closed_) {
    if (under_way_.empty() || waiting_ != 0) {
      changed_.wait(lock);
      continue;
    }
    const bool moved = advance(news);
    lock.unlock();
    spread(std::exchange(news, {}));
    if (moved) patience.reset();
    const bool is_time = !moved && patience.wait();
    lock.lock();
    if (is_time && waiting_ == 0) look(patience.waited_ns(), nullptr);
  }
}

}  // namespace rondo
