// SPDX-License-Identifier: Apache-2.0
#include "health/flight_file.h"

#include <atomic>
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
#include "base/settings.h"
#include "health/flight_text.h"

namespace rondo {
namespace {

/// How long the caller of a failed call may have to wait for the file.
constexpr std::chrono::seconds kMaxWait{2};

Status write_as(const std::string& name, const char* reason, WhileRunning how) {
  const RecordedComms comms = recorded_comms();
  const ProgramPlace program = program_place(how);
  return replace_file(expanded_file_name(name, comms.first_rank), flight_text(comms, reason, {}, program));
}

class FlightFile {
 public:
  void set_name(std::string name) {
    const std::lock_guard lock(mutex_);
    name_ = std::move(name);
  }
  std::string name() {
    const std::lock_guard lock(mutex_);
    return name_;
  }

  /// A failure is about to be recorded. What waits for it then also waits for the file.
  void announce() {
    const std::lock_guard lock(mutex_);
    ++announced_;
    is_awaited_ = true;
  }
  /// It has been; `is_first`: the communicator had not failed before.
  void request(bool is_first) {
    std::unique_lock lock(mutex_);
    --announced_;
    if (is_first && !name_.empty()) ++requested_;
    const Status started = requested_ != written_ && !is_running_ ? start() : Status();
    changed_.notify_all();
    lock.unlock();
    warn_once(started);
  }

  void await() {
    if (!is_awaited_.load()) return;
    std::unique_lock lock(mutex_);
    const auto until = std::chrono::system_clock::now() + kMaxWait;
    changed_.wait_until(lock, until, [&] { return announced_ == 0 && written_ == requested_; });
    is_awaited_ = announced_ != 0;
  }

 private:
  /// With mutex_ held.
  Status start() {
    auto started = try_quiet_thread("rondo-flight", [this] { run(); });
    is_running_ = started.ok();
    if (is_running_)
      started.value().detach();
    else
      written_ = requested_;
    return started.status();
  }

  void run() {
    std::unique_lock lock(mutex_);
    while (written_ != requested_) {
      const uint64_t target = requested_;
      const std::string name = name_;
      lock.unlock();
      warn_once(written(name));
      lock.lock();
      written_ = target;
      changed_.notify_all();
    }
    is_running_ = false;
  }

  static Status written(const std::string& name) try {
    return write_as(name, "failure", WhileRunning::Signal);
  } catch (const std::bad_alloc&) {
    return out_of_memory();
  }

  /// Without mutex_, as the log may be a file too.
  void warn_once(const Status& status) {
    if (status.ok() || has_warned_.exchange(true)) return;
    log().warn("{}: {}", setting_info(Setting::FlightFile).variable, status.text());
  }

  std::atomic<bool> is_awaited_{false};
  std::atomic<bool> has_warned_{false};
  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::string name_;        // with marks; empty: none
  uint64_t announced_ = 0;  // failures that are being recorded
  uint64_t requested_ = 0;  // failures that have been recorded; the file is to show them
  uint64_t written_ = 0;
  bool is_running_ = false;
};

}  // namespace

Status read_flight_file_name() {
  RONDO_TRY_ASSIGN(std::string name, process_file_name(Setting::FlightFile));
  per_process<FlightFile>().set_name(std::move(name));
  return {};
}

bool record_failure(CommState& state, Status cause) {
  if (is_disowned()) return state.fail(std::move(cause));
  per_process<FlightFile>().announce();
  const bool is_first = state.fail(std::move(cause));
  per_process<FlightFile>().request(is_first);
  return is_first;
}

void await_flight_file() {
  if (!is_disowned()) per_process<FlightFile>().await();
}

Status write_flight_file(const std::string& name) {
  RONDO_TRY(check_file_name("file", name, kProcessMarks));
  const std::string chosen = name.empty() ? per_process<FlightFile>().name() : name;
  if (chosen.empty())
    return error(Code::InvalidArgument, "file is NULL, and {} is not set",
                 setting_info(Setting::FlightFile).variable);
  return write_as(chosen, "request", WhileRunning::LeaveAlone);
}

}  // namespace rondo
