#include "comm/watch.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/quiet_thread.h"
#include "comm/diagnosis.h"

namespace rondo {
namespace {

using std::chrono::microseconds;

constexpr microseconds kIdle{20'000};   // no call is in a stream; replays of graphs come without a word
constexpr microseconds kBusy{2'000};    // a call is
constexpr microseconds kReleasing{50};  // streams of a failed communicator wait
constexpr int64_t kFirstLook_ns = 1'000'000'000;

template <class T>
T load(T& word) {
  return std::atomic_ref(word).load(std::memory_order_acquire);
}

bool is_busy(const WordTable& words, int rank) { return load(words.rank(rank).busy) != 0; }

/// The stream that waits for a word puts it back to 0, and may then wait for it again. What its kernels find
/// then is no call's: they must not follow it to memory that may be gone.
void release(const WordTable& words, int rank) {
  std::atomic_ref(words.rank(rank).stopped).store(1, std::memory_order_release);
  uint32_t* const first = words.first_word(rank);
  for (size_t i = 0; i < words.words_of_rank(); ++i)
    std::atomic_ref(first[i]).store(1, std::memory_order_release);
}

/// What the thread looks at.
class Looked {
 public:
  virtual ~Looked() = default;
  /// How long the next look can wait.
  virtual microseconds look() = 0;
};

}  // namespace

Status noted_mismatch(const WordTable& words, int rank) {
  MismatchNote& note = words.rank(rank).note;
  if (load(note.noted) == 0) return {};  // pairs with the kernel's release store
  return mismatch(rank, note.own, static_cast<int>(note.peer), note.found);
}

int late_rank(const WordTable& words, int nranks, int self) {
  int late = -1;
  for (int rank = 0; rank < nranks; ++rank) {
    if (rank == self) continue;
    if (!is_busy(words, rank)) return rank;
    if (late < 0 || load(words.rank(rank).ticks) < load(words.rank(late).ticks)) late = rank;
  }
  return late;
}

class Watch::Watched final : public Looked {
 public:
  Watched(Communicator& of, const WordTable& its_words, std::shared_ptr<PeerWindows> windows)
      : communicator_(of), words_(its_words), windows_(std::move(windows)) {}
  ~Watched() override {
    if (looking_.joinable()) looking_.join();
  }

  microseconds look() override;

 private:
  int rank() const { return communicator_.rank(); }
  void judge_wait();
  void find_out(bool gives_up);

  Communicator& communicator_;
  WordTable words_;
  std::shared_ptr<PeerWindows> windows_;
  uint64_t ticks_ = 0;
  int64_t still_since_ns_ = 0;  // 0: it moves, or there is nothing to move
  int64_t next_look_ns_ = kFirstLook_ns;
  std::thread looking_;  // asks peers, which takes a while
  std::atomic<bool> looks_{false};
};

microseconds Watch::Watched::look() {
  const bool busy = is_busy(words_, rank());
  windows_->look();
  if (communicator_.health().failed()) {
    if (busy) release(words_, rank());
    return busy ? kReleasing : kBusy;
  }
  if (const Status noted = noted_mismatch(words_, rank()); !noted.ok())
    static_cast<void>(communicator_.fail(noted));
  if (busy)
    judge_wait();
  else
    still_since_ns_ = 0;
  return busy ? kBusy : kIdle;
}

/// A call that goes on starts kernels now and then; one whose peers have not come does not.
void Watch::Watched::judge_wait() {
  const uint64_t ticks_now = load(words_.rank(rank()).ticks);
  const int64_t now = now_ns();
  if (still_since_ns_ == 0 || ticks_now != ticks_) {
    ticks_ = ticks_now;
    still_since_ns_ = now;
    next_look_ns_ = kFirstLook_ns;
    return;
  }
  const int64_t lasts_ns = now - still_since_ns_;
  const bool gives_up = lasts_ns / 1'000'000 >= communicator_.timeout_ms();
  if ((!gives_up && lasts_ns < next_look_ns_) || looks_.load(std::memory_order_acquire)) return;
  next_look_ns_ *= 2;
  if (looking_.joinable()) looking_.join();
  looks_.store(true, std::memory_order_relaxed);
  auto started = try_quiet_thread([this, gives_up] {
    find_out(gives_up);
    looks_.store(false, std::memory_order_release);
  });
  if (started.ok())
    looking_ = started.take();
  else
    looks_.store(false, std::memory_order_relaxed);  // the next look tries again
}

void Watch::Watched::find_out(bool gives_up) {
  const Diagnosis diagnosis =
      diagnose(communicator_, {.rank = late_rank(words_, communicator_.size(), rank()), .messages = {}});
  if (!diagnosis.mismatch.ok()) {
    static_cast<void>(communicator_.fail(diagnosis.mismatch));
  } else if (gives_up) {
    const Board& board = communicator_.board();
    static_cast<void>(communicator_.fail(
        error(Code::Timeout, "{} has not moved on within {} s in a stream of rank {}: {}",
              describe(board.call(board.latest()).value_or(Signature())),
              static_cast<double>(communicator_.timeout_ms()) / 1000, rank(), diagnosis.cause)));
  }
}

namespace {

/// Who is looked after, and the thread that does it, which ends with the process.
class Guard {
 public:
  static Guard& get() {
    static auto& guard = *new Guard;
    return guard;
  }
  void add(Looked& one) {
    const std::lock_guard lock(mutex_);
    all_.push_back(&one);
    if (!started_) start();
    changed_.notify_all();
  }
  void remove(Looked& one) {
    const std::lock_guard lock(mutex_);
    std::erase(all_, &one);
  }

 private:
  void start() {
    quiet_thread([this] { loop(); }).detach();
    started_ = true;
  }
  [[noreturn]] void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      microseconds next = kIdle;
      for (Looked* one : all_) next = std::min(next, one->look());
      if (all_.empty())
        changed_.wait(lock);
      else
        changed_.wait_for(lock, next);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Looked*> all_;
  bool started_ = false;
};

}  // namespace

Watch::Watch(Communicator& communicator, const WordTable& words, std::shared_ptr<PeerWindows> windows)
    : watched_(std::make_unique<Watched>(communicator, words, std::move(windows))) {
  Guard::get().add(*watched_);
}

Watch::~Watch() { Guard::get().remove(*watched_); }

}  // namespace rondo
