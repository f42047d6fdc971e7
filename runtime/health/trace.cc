// SPDX-License-Identifier: Apache-2.0
#include "health/trace.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/disowned.h"
#include "base/error_kinds.h"
#include "base/file_name.h"
#include "base/log.h"
#include "base/per_process.h"
#include "base/quiet_thread.h"
#include "base/settings.h"
#include "trace_ring.h"
#include "trace_text.h"

namespace rondo {

constinit std::atomic<bool> has_trace{false};

namespace {

/// How long records stay in memory.
constexpr std::chrono::milliseconds kTracePeriod{20};
/// How long the end of the last communicator may have to wait for the file.
constexpr std::chrono::seconds kMaxFlush{2};
/// What is written at once.
constexpr size_t kPieceBytes = size_t{256} * 1024;
/// Room for the remarks at the limit.
constexpr int64_t kRemarks = 1024;
constexpr int64_t kDefaultTraceBytes = int64_t{256} << 20;

/// The file, in whole lines only. One thread.
class WholeLines {
 public:
  ~WholeLines() {
    if (is_open()) ::close(file_);
  }

  Status open(const std::string& path, int64_t max_bytes) {
    max_bytes_ = max_bytes;
    path_ = path;
    // Not to wait for the reader of a pipe.
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
    if (file_ < 0 || ::fcntl(file_, F_SETFL, 0) != 0 || ::fstat(file_, &identity_) != 0)
      return system_error("cannot write " + path_, errno, ErrorKind::FileUnwritable);
    if (is_taken())
      return error(ErrorKind::FileUnwritable, "cannot write {}: another process writes its trace there",
                   path_);
    if (S_ISREG(identity_.st_mode) && ::ftruncate(file_, 0) != 0)
      return system_error("cannot write " + path_, errno, ErrorKind::FileUnwritable);
    return {};
  }
  /// False: the file has no room for it within its limit.
  bool add(const std::string& line) {
    if (written_ + static_cast<int64_t>(text_.size() + line.size()) > max_bytes_ - kRemarks) return false;
    text_ += line;
    return true;
  }
  void add_last(const std::string& line) { text_ += line; }
  bool is_full() const { return text_.size() >= kPieceBytes; }
  /// On failure the file keeps the lines for which it had room.
  Status write() {
    if (!is_open())
      return error(ErrorKind::FileUnwritable, "{}: the program has closed its descriptor", path_);
    for (size_t at = 0; at < text_.size();) {
      const ssize_t done = ::write(file_, text_.data() + at, text_.size() - at);
      if (done < 0 && errno == EINTR) continue;
      if (done <= 0) {
        const Status failed =
            system_error("cannot write " + path_, done == 0 ? EIO : errno, ErrorKind::FileUnwritable);
        const size_t whole = std::string_view(text_).substr(0, at).rfind('\n') + 1;  // npos + 1: none
        if (::ftruncate(file_, written_ + static_cast<int64_t>(whole)) != 0)
          log().debug("{}: its last line may be cut off", path_);
        return failed;
      }
      at += static_cast<size_t>(done);
    }
    written_ += static_cast<int64_t>(text_.size());
    text_.clear();
    return {};
  }

 private:
  /// By its lock, which ends with the process. A program that a rank runs has the rank's environment. File
  /// systems without locks do without.
  bool is_taken() {
    struct flock whole {};
    whole.l_type = F_WRLCK;
    return ::fcntl(file_, F_SETLK, &whole) != 0 && (errno == EAGAIN || errno == EACCES);
  }
  /// A program may close all descriptors, as daemons do, and their numbers then belong to its own files.
  bool is_open() const {
    struct stat now {};
    return file_ >= 0 && ::fstat(file_, &now) == 0 && now.st_dev == identity_.st_dev &&
           now.st_ino == identity_.st_ino;
  }

  int file_ = -1;
  struct stat identity_ {};  // of the file
  std::string path_;
  std::string text_;  // to be written
  int64_t written_ = 0;
  int64_t max_bytes_ = 0;
};

class Trace {
 public:
  Trace(std::string name, int64_t max_bytes) : name_(std::move(name)), max_bytes_(max_bytes) {}

  Status start() {
    auto started = try_quiet_thread("rondo-trace", [this] { run(); });
    RONDO_TRY(started.status());
    started.value().detach();
    return {};
  }

  /// The process that has the thread; a fork does not.
  pid_t process() const { return process_; }
  const std::string& name() const { return name_; }

  uint32_t track(const RecordedComm& comm) {
    const std::lock_guard lock(mutex_);
    new_tracks_.emplace_back(++tracks_, comm);
    return tracks_;
  }

  void add(const TraceRecord& record) { ring_.push(record); }

  void flush() {
    std::unique_lock lock(mutex_);
    const uint64_t target = ++requested_;
    changed_.notify_all();
    changed_.wait_until(lock, std::chrono::system_clock::now() + kMaxFlush,
                        [&] { return has_ended_ || written_ >= target; });
  }

 private:
  void run() {
    Status status;
    try {
      status = write_all();
    } catch (const std::bad_alloc&) {
      status = out_of_memory();
    }
    has_trace.store(false, std::memory_order_relaxed);
    if (!status.ok()) log().warn("{}: {}", setting_info(Setting::Trace).variable, status.text());
    const std::lock_guard lock(mutex_);
    has_ended_ = true;
    changed_.notify_all();
  }

  /// Until the limit, or a failure.
  Status write_all() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait_until(lock, std::chrono::system_clock::now() + kTracePeriod,
                          [&] { return written_ != requested_; });
      const uint64_t target = requested_;
      lock.unlock();
      RONDO_TRY(write_new());
      lock.lock();
      if (is_at_limit_) return {};
      written_ = target;
      changed_.notify_all();
    }
  }

  Status write_new() {
    // At most what is there now, so that flush() ends however many come.
    for (uint64_t left = ring_.pushed() - ring_.popped(); left != 0 && !is_at_limit_; --left) {
      TraceRecord record;
      if (!ring_.pop(record)) break;
      RONDO_TRY(take_tracks(record.track));
      const std::string line = text_->record(record);
      if (line.empty())
        ++not_shown_;
      else if (!lines_.add(line))
        say_limit();
      if (lines_.is_full()) RONDO_TRY(lines_.write());
    }
    RONDO_TRY(take_tracks(0));
    say_dropped();
    return text_ ? lines_.write() : Status();
  }

  /// Until this one is known; 0: those that are there.
  Status take_tracks(uint32_t wanted) {
    if (wanted != 0 && wanted <= known_tracks_) return {};
    std::deque<std::pair<uint32_t, RecordedComm>> tracks;
    {
      const std::lock_guard lock(mutex_);
      tracks.swap(new_tracks_);
    }
    for (const auto& [number, comm] : tracks) {
      if (!text_) {
        const int first_rank = recorded_comms().first_rank;
        text_.emplace(clocks_, first_rank);
        RONDO_TRY(lines_.open(expanded_file_name(name_, first_rank), max_bytes_));
        lines_.add_last(text_->head());
      }
      known_tracks_ = number;
      if (!is_at_limit_ && !lines_.add(text_->track(comm, number))) say_limit();
    }
    return {};
  }

  void say_limit() {
    is_at_limit_ = true;
    lines_.add_last(text_->remark("the trace ends at its limit",
                                  fmt::format("\"limit_bytes\":{}", max_bytes_), now_ns()));
    log().warn("{}: the trace has reached its {} bytes and ends ({})", setting_info(Setting::Trace).variable,
               max_bytes_, setting_info(Setting::TraceBytes).variable);
  }

  void say_dropped() {
    const uint64_t dropped = ring_.dropped() + not_shown_;
    if (dropped == dropped_ || !text_) return;
    if (dropped_ == 0)
      log().warn("{}: records come faster than they can be written: {} were dropped, and more may be",
                 setting_info(Setting::Trace).variable, dropped);
    const std::string line =
        text_->remark("records dropped", fmt::format("\"dropped\":{}", dropped - dropped_), now_ns());
    dropped_ = dropped;
    if (is_at_limit_)
      lines_.add_last(line);
    else if (!lines_.add(line))
      say_limit();
  }

  const pid_t process_ = ::getpid();
  const TraceClocks clocks_ = read_clocks();
  const std::string name_;  // with marks
  const int64_t max_bytes_;
  TraceRing ring_;

  // Of the thread:
  std::optional<TraceText> text_;  // once there is a track
  WholeLines lines_;
  uint32_t known_tracks_ = 0;
  uint64_t not_shown_ = 0;
  uint64_t dropped_ = 0;  // as far as the file says
  bool is_at_limit_ = false;

  std::mutex mutex_;  // guards all members below
  std::condition_variable changed_;
  std::deque<std::pair<uint32_t, RecordedComm>> new_tracks_;
  uint32_t tracks_ = 0;
  uint64_t requested_ = 0;  // flushes
  uint64_t written_ = 0;
  bool has_ended_ = false;
};

/// Never freed: its thread may outlive static objects.
constinit std::atomic<Trace*> the_trace{nullptr};

/// Held while a trace begins.
struct StartMutex {
  std::mutex mutex;
};

/// The trace that this process itself began.
Trace* own_trace() {
  Trace* const trace = the_trace.load(std::memory_order_acquire);  // pairs with begin_trace()
  return trace != nullptr && trace->process() == ::getpid() ? trace : nullptr;
}

Status begin_trace(const std::string& name, int64_t max_bytes) {
  const std::lock_guard lock(per_process<StartMutex>().mutex);
  if (own_trace() != nullptr) return {};
  const Trace* const inherited = the_trace.load();
  has_trace = false;
  // A child of fork() would replace its parent's file.
  if (inherited != nullptr && marks_of(name).find('p') == std::string::npos) {
    log().warn("{}: '{}' has no %p, so a child of fork() writes no trace",
               setting_info(Setting::Trace).variable, name);
    return {};
  }
  auto trace = std::make_unique<Trace>(name, max_bytes);
  if (const Status started = trace->start(); !started.ok()) {
    log().warn("{}: {}", setting_info(Setting::Trace).variable, started.text());
    return {};
  }
  the_trace.store(trace.release(), std::memory_order_release);  // pairs with own_trace()
  has_trace = true;
  if (inherited == nullptr) std::atexit(flush_trace);
  return {};
}

}  // namespace

Status read_trace_settings() {
  RONDO_TRY_ASSIGN(const std::string name, process_file_name(Setting::Trace));
  constexpr int64_t kMinTraceBytes = 64 * 1024;
  RONDO_TRY_ASSIGN(const int64_t max_bytes,
                   size_setting(Setting::TraceBytes, kMinTraceBytes, INT64_MAX, kDefaultTraceBytes));
  return name.empty() ? Status() : begin_trace(name, max_bytes);
}

uint32_t trace_track(const RecordedComm& comm) {
  Trace* const trace = has_trace.load(std::memory_order_relaxed) ? own_trace() : nullptr;
  return trace != nullptr ? trace->track(comm) : 0;
}

void add_to_trace(const TraceRecord& record) {
  if (record.track == 0 || !has_trace.load(std::memory_order_relaxed)) return;
  the_trace.load(std::memory_order_acquire)->add(record);
}

void flush_trace() {
  if (is_disowned()) return;
  if (Trace* const trace = own_trace()) trace->flush();
}

}  // namespace rondo
