// Patience: how a thread waits between two looks: it spins while an answer may be a moment away, then lets
// others run, then naps, longer and longer. Where letting others run brings the answer at once, the thread
// shares its core with what it waits for, and its next waits spin less. One a wait; one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

namespace rondo {

class Patience {
 public:
  /// `crowded`: ranks outnumber the cores, so that whoever spins keeps from running what it waits for.
  /// `nap(ns)` sleeps for at most that long, and no longer than until there may be something to do; null: for
  /// so long.
  explicit Patience(bool crowded, std::function<void(int64_t ns)> nap = nullptr)
      : crowded_(crowded), nap_(std::move(nap)) {}

  /// Something moved.
  void reset() {
    if (turns_ == 0) return;
    learn();
    turns_ = 0;
    since_ns_ = 0;
  }
  /// Nothing moved: waits a little. True now and then, when a look at slower things (deadline, peers) is due.
  bool wait();
  /// How long nothing has moved, as of the last wait() that was true.
  int64_t waited_ns() const { return waited_ns_; }

 private:
  uint32_t spins() const;
  void learn() const;

  bool crowded_;
  std::function<void(int64_t ns)> nap_;
  uint32_t turns_ = 0;
  int64_t since_ns_ = 0;
  int64_t waited_ns_ = 0;
};

}  // namespace rondo
