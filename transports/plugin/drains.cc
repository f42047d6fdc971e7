// SPDX-License-Identifier: Apache-2.0
#include "plugin/drains.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <list>
#include <mutex>
#include <vector>

#include "base/log.h"
#include "base/quiet_thread.h"

namespace rondo::plugin {
namespace {

class DrainThread {
 public:
  /// That of this process; it lives as long.
  static DrainThread& here();

  void add(PluginDrain drain);
  size_t count();
  /// Before the plugin's own objects are destroyed, as the process ends. Waits a second at most.
  void stop();

 private:
  using Drains = std::list<PluginDrain>;

  void run();
  /// Takes over what is new; false if the thread is to end.
  bool take_new(Drains& own);
  bool advance(Drains& own);
  void retire(Drains& own, Drains::iterator one, bool is_kept);
  void sleep(const Drains& own, bool polls) const;
  void wake() const {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = ::write(wake_.get(), &one, sizeof one);
  }

  const pid_t owner_ = ::getpid();
  const Fd wake_ = Fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::mutex mutex_;  // guards what follows
  std::condition_variable ended_;
  Drains new_;
  Drains kept_;
  size_t count_ = 0;  // not closed and not kept
  bool runs_ = false;
  bool stops_ = false;
};

DrainThread& DrainThread::here() {
  static std::atomic<DrainThread*> current = nullptr;
  DrainThread* found = current.load(std::memory_order_acquire);
  if (found != nullptr && found->owner_ == ::getpid()) return *found;
  auto made = std::make_unique<DrainThread>();
  // Pairs with the acquire loads: the object is complete.
  if (!current.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) return *found;
  std::atexit([] {
    DrainThread* const latest = current.load(std::memory_order_acquire);
    if (latest->owner_ == ::getpid()) latest->stop();
  });
  return *made.release();
}

void DrainThread::add(PluginDrain drain) {
  const std::lock_guard lock(mutex_);
  if (stops_) return kept_.push_back(std::move(drain));
  new_.push_back(std::move(drain));
  ++count_;
  if (runs_) return wake();
  auto thread = try_quiet_thread("rondo-drain", [this] { run(); });
  runs_ = thread.ok();
  if (runs_) return thread.take().detach();
  log().debug("a connection over a network plugin stays open: {}", thread.status().message());
  kept_.splice(kept_.end(), new_);
  count_ = 0;
}

size_t DrainThread::count() {
  const std::lock_guard lock(mutex_);
  return count_;
}

void DrainThread::stop() {
  std::unique_lock lock(mutex_);
  stops_ = true;
  wake();
  ended_.wait_for(lock, std::chrono::seconds(1), [&] { return !runs_; });
}

void DrainThread::run() {
  Drains own;
  while (take_new(own)) {
    const bool polls = advance(own);
    if (!own.empty()) sleep(own, polls);
  }
}

bool DrainThread::take_new(Drains& own) {
  const std::lock_guard lock(mutex_);
  own.splice(own.end(), new_);
  if (!own.empty() && !stops_) return true;
  kept_.splice(kept_.end(), own);
  runs_ = false;
  ended_.notify_all();
  return false;
}

/// Whether any waits for the plugin.
bool DrainThread::advance(Drains& own) {
  bool polls = false;
  for (auto at = own.begin(); at != own.end();) {
    const auto one = at++;
    const auto awaits = one->advance();
    polls = polls || awaits == PluginDrain::Awaits::Plugin;
    if (awaits == PluginDrain::Awaits::Nothing || awaits == PluginDrain::Awaits::Never)
      retire(own, one, awaits == PluginDrain::Awaits::Never);
  }
  return polls;
}

/// Comms are closed without the lock: that may take long.
void DrainThread::retire(Drains& own, Drains::iterator one, bool is_kept) {
  Drains retired;
  retired.splice(retired.end(), own, one);
  if (!is_kept) retired.clear();
  const std::lock_guard lock(mutex_);
  kept_.splice(kept_.end(), retired);
  --count_;
}

void DrainThread::sleep(const Drains& own, bool polls) const {
  std::vector<pollfd> waiting{{wake_.get(), POLLIN, 0}};
  for (const PluginDrain& drain : own) waiting.push_back({drain.descriptor(), POLLIN, 0});
  ::poll(waiting.data(), waiting.size(), polls ? 1 : -1);
  uint64_t wakes = 0;
  [[maybe_unused]] const ssize_t read = ::read(wake_.get(), &wakes, sizeof wakes);
}

}  // namespace

void close_drained(PluginDrain drain) {
  if (drain.advance() != PluginDrain::Awaits::Nothing) DrainThread::here().add(std::move(drain));
}

size_t count_draining() { return DrainThread::here().count(); }

}  // namespace rondo::plugin
