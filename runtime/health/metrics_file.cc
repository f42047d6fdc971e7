// SPDX-License-Identifier: Apache-2.0
#include "health/metrics_file.h"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>

#include "base/disowned.h"
#include "base/file_contents.h"
#include "base/file_name.h"
#include "base/log.h"
#include "base/per_process.h"
#include "base/quiet_thread.h"
#include "health/flight_recorders.h"
#include "metrics_text.h"

namespace rondo {
namespace {

using Clock = std::chrono::system_clock;

constexpr std::chrono::seconds kPeriod{5};
/// How long the end of the last communicator may have to wait for the file.
constexpr std::chrono::seconds kMaxEnding{2};

class MetricsFile {
 public:
  void set_name(std::string name) {
    const std::lock_guard lock(mutex_);
    name_ = std::move(name);
    if (name_.empty() || has_thread_) return;
    auto started = try_quiet_thread("rondo-metrics", [this] { run(); });
    if (!started.ok()) return warn_once(started.status());
    started.value().detach();
    has_thread_ = true;
  }

  void finish() {
    std::unique_lock lock(mutex_);
    if (name_.empty() || !has_thread_ || process_totals().live != 0) return;
    const uint64_t target = ++requested_;
    changed_.notify_all();
    changed_.wait_until(lock, Clock::now() + kMaxEnding, [&] { return written_ >= target; });
  }

 private:
  [[noreturn]] void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait_until(lock, Clock::now() + kPeriod, [&] { return written_ != requested_; });
      const uint64_t target = requested_;
      const std::string name = name_;
      lock.unlock();
      if (!name.empty()) warn_once(written(name));
      lock.lock();
      written_ = target;
      changed_.notify_all();
    }
  }

  static Status written(const std::string& name) try {
    const ProcessTotals totals = process_totals();
    return replace_file(expanded_file_name(name, totals.first_rank), metrics_text(totals));
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }

  /// By the thread, or while there is none.
  void warn_once(const Status& status) {
    if (status.ok() || has_warned_) return;
    has_warned_ = true;
    log().warn("{}: {}", setting_info(Setting::Metrics).variable, status.text());
  }

  bool has_warned_ = false;
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::string name_;  // with marks; empty: none
  bool has_thread_ = false;
  uint64_t requested_ = 0;  // ends of last communicators
  uint64_t written_ = 0;
};

}  // namespace

Status read_metrics_file_name() {
  RONDO_TRY_ASSIGN(std::string name, process_file_name(Setting::Metrics));
  per_process<MetricsFile>().set_name(std::move(name));
  return {};
}

void finish_metrics_file() {
  if (!is_disowned()) per_process<MetricsFile>().finish();  // a forked child has no such thread
}

}  // namespace rondo
