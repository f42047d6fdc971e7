// SPDX-License-Identifier: Apache-2.0
#include "watchdog.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/error_kinds.h"
#include "base/quiet_thread.h"
#include "diagnosis/desync_report.h"
#include "health/stall_detector.h"

namespace rondo {
namespace {

using std::chrono::microseconds;

constexpr microseconds kIdle{20'000};   // no call in a stream; graph replays start without notice
constexpr microseconds kBusy{2'000};    // a call in a stream
constexpr microseconds kReleasing{50};  // streams of a failed communicator wait

template <class T>
T load(T& word) {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}

bool is_busy(const WordTable& words, int rank) { return load(words.rank(rank).busy) != 0; }

/// Called repeatedly, since a waiting stream resets each word to 0 and may then wait for it again. `stopped`
/// keeps its kernels, whose stamps may be stale, from reading peers' memory that may be gone.
void release(const WordTable& words, int rank) {
  std::atomic_ref(words.rank(rank).stopped).store(1, std::memory_order_release);
  uint32_t* const first = words.first_word(rank);
  for (size_t i = 0; i < words.words_of_rank(); ++i)
    std::atomic_ref(first[i]).store(1, std::memory_order_release);
}

/// An object that the watchdog thread polls.
class Watched {
 public:
  virtual ~Watched() = default;
  /// Polls; returns the maximum delay until the next call.
  virtual microseconds look() = 0;
};

}  // namespace

Status noted_mismatch(const WordTable& words, int rank) {
  MismatchNote& note = words.rank(rank).note;
  if (load(note.noted) == 0) return {};  // pairs with the kernel's release store
  return mismatch(rank, note.own, static_cast<int>(note.peer), note.found);
}

int late_rank(const WordTable& words, int nranks, int self) {
  for (int rank = 0; rank < nranks; ++rank)
    if (load(words.rank(rank).made) < load(words.rank(self).made)) return rank;
  int late = -1;
  for (int rank = 0; rank < nranks; ++rank) {
    if (rank == self) continue;
    if (!is_busy(words, rank)) return rank;
    if (late < 0 || load(words.rank(rank).ticks) < load(words.rank(late).ticks)) late = rank;
  }
  return late;
}

class Watchdog::WatchedComm final : public Watched {
 public:
  WatchedComm(MembershipPtr of, const WordTable& its_words, std::shared_ptr<ImportedWindows> windows)
      : membership_(std::move(of)), words_(its_words), windows_(std::move(windows)) {}
  ~WatchedComm() override {
    if (looking_.joinable()) looking_.join();
  }

  microseconds look() override;

 private:
  int rank() const { return membership_->rank(); }
  void judge_wait();
  void find_out(bool gives_up);

  const MembershipPtr membership_;
  WordTable words_;
  std::shared_ptr<ImportedWindows> windows_;
  uint64_t ticks_ = 0;
  bool is_still_ = false;  // a call has not moved since the last look
  StallDetector stall_detector_;
  std::thread looking_;  // asks peers, which takes a while
  std::atomic<bool> looks_{false};
};

microseconds Watchdog::WatchedComm::look() {
  const bool busy = is_busy(words_, rank());
  windows_->look();
  if (membership_->failed()) {
    if (busy) release(words_, rank());
    return busy ? kReleasing : kBusy;
  }
  if (const Status noted = noted_mismatch(words_, rank()); !noted.ok())
    static_cast<void>(membership_->fail(noted));
  if (busy)
    judge_wait();
  else
    is_still_ = false;
  return busy ? kBusy : kIdle;
}

/// A call that progresses launches kernels now and then; one whose peers have not arrived does not.
void Watchdog::WatchedComm::judge_wait() {
  const uint64_t ticks_now = load(words_.rank(rank()).ticks);
  if (!is_still_ || ticks_now != ticks_) {
    ticks_ = ticks_now;
    is_still_ = true;
    return stall_detector_.note_progress();
  }
  if (looks_.load(std::memory_order_acquire)) return;
  const StallDetector::Finding finding = stall_detector_.judge(membership_->timeout_ms());
  if (finding == StallDetector::Finding::Fine) return;
  const bool gives_up = finding == StallDetector::Finding::Overdue;
  if (looking_.joinable()) looking_.join();
  looks_.store(true, std::memory_order_relaxed);
  auto started = try_quiet_thread("rondo-diagnose", [this, gives_up] {
    find_out(gives_up);
    looks_.store(false, std::memory_order_release);
  });
  if (started.ok())
    looking_ = started.take();
  else
    looks_.store(false, std::memory_order_relaxed);  // the next look tries again
}

void Watchdog::WatchedComm::find_out(bool gives_up) {
  const int late = late_rank(words_, membership_->size(), rank());
  const PendingWait wait{.rank = late, .guessed = true, .messages = {}, .received = {}};
  const DesyncReport diagnosis = gives_up ? last_diagnosis(*membership_, wait) : diagnose(*membership_, wait);
  if (!diagnosis.mismatch.ok()) {
    static_cast<void>(membership_->fail(diagnosis.mismatch));
  } else if (!diagnosis.departed.ok()) {
    static_cast<void>(membership_->fail(diagnosis.departed));
  } else if (gives_up) {
    const FlightRecorder& recorder = membership_->recorder();
    static_cast<void>(membership_->fail(
        error(ErrorKind::StreamStalled, "{} has made no progress for {} s in a stream of rank {}: {}",
              describe(recorder.call(recorder.latest()).value_or(Signature())),
              static_cast<double>(membership_->timeout_ms()) / 1000, rank(), diagnosis.cause)
            .because(diagnosis.kind)));
  }
}

namespace {

/// The polled objects and the thread that polls them, which lives until the process exits.
class Guard {
 public:
  static Guard& get() {
    static auto& guard = *new Guard;
    return guard;
  }
  void add(Watched& one) {
    const std::lock_guard lock(mutex_);
    all_.push_back(&one);
    if (!started_) start();
    changed_.notify_all();
  }
  void remove(Watched& one) {
    const std::lock_guard lock(mutex_);
    std::erase(all_, &one);
  }

 private:
  void start() {
    quiet_thread("rondo-watchdog", [this] { loop(); }).detach();
    started_ = true;
  }
  [[noreturn]] void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      microseconds next = kIdle;
      for (Watched* one : all_) next = std::min(next, one->look());
      if (all_.empty())
        changed_.wait(lock);
      else
        changed_.wait_for(lock, next);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Watched*> all_;
  bool started_ = false;
};

}  // namespace

Watchdog::Watchdog(MembershipPtr membership, const WordTable& words, std::shared_ptr<ImportedWindows> windows)
    : watched_(std::make_unique<WatchedComm>(std::move(membership), words, std::move(windows))) {
  Guard::get().add(*watched_);
}

Watchdog::~Watchdog() { Guard::get().remove(*watched_); }

}  // namespace rondo
