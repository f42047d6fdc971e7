#include "comm/departures.h"

#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "base/quiet_thread.h"

namespace rondo {
namespace {

struct Pending {
  std::mutex mutex;
  std::condition_variable changed;
  int count = 0;
};

Pending& pending() {
  static auto& one = *new Pending;  // threads may use it while the process ends
  return one;
}

void await_all() {
  std::unique_lock lock(pending().mutex);
  pending().changed.wait_for(lock, std::chrono::seconds(1), [] { return pending().count == 0; });
}

void note_end() {
  const std::lock_guard lock(pending().mutex);
  --pending().count;
  pending().changed.notify_all();
}

}  // namespace

void Departures::add(std::function<void()> rest) {
  static const int registered = std::atexit(await_all);
  static_cast<void>(registered);
  {
    const std::lock_guard lock(pending().mutex);
    ++pending().count;
  }
  quiet_thread([rest = std::move(rest)]() mutable {
    rest();
    rest = nullptr;
    note_end();
  }).detach();
}

}  // namespace rondo
