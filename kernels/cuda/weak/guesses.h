// SPDX-License-Identifier: Apache-2.0
// Guesses: values that loads return before they are stored. On a machine that reorders accesses to different
// words, a store may become visible before reads that precede it in program order are done, and writes may
// become visible before a load that precedes them. The simulated lanes run in program order, so neither can
// be simulated directly. Both have the same effect: a load returns a value that is stored later. So the load
// guesses the value, and the run is valid only if the guess is fulfilled in time:
//
//     early store    the store is visible from the guess on. That cannot be before the last acquire that
//                    precedes the store, since nothing after an acquire moves before it
//     late load      the load is performed when the store is done. That cannot be after its lane's next
//                    release, nor after the next load of the word
//
// This is the promise of "A promising semantics for relaxed-memory concurrency" (Kang, Hur, Lahav, Vafeiadis,
// Dreyer, POPL 2017). Used only by Machine, on one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace rondo::weak {

class Guesses {
 public:
  struct Guess {
    const void* lane;  // the loading lane
    const uint64_t* at;
    uint64_t value;
    uint64_t time;
    bool late;  // true: late load; false: early store
  };

  void add(const Guess& guess) { open_.push_back(guess); }
  /// Called for a store by a lane whose last acquire was at time `acquired`.
  void fulfil(const uint64_t* at, uint64_t value, uint64_t acquired) {
    std::erase_if(open_, [&](const Guess& guess) {
      if (guess.at != at || guess.value != value) return false;
      failed_ |= !guess.late && acquired >= guess.time;
      return true;
    });
  }
  /// any(): some guesses are not fulfilled yet. have_failed(): one never will be.
  bool any() const { return !open_.empty(); }
  bool have_failed() const { return failed_; }
  /// Whether a late load by the lane, or of the word, has not been performed yet.
  bool lane_is_late(const void* lane) const {
    return any_of([lane](const Guess& guess) { return guess.late && guess.lane == lane; });
  }
  bool word_is_late(const uint64_t* at) const {
    return any_of([at](const Guess& guess) { return guess.late && guess.at == at; });
  }
  /// The value of an early store to the word, visible to all lanes.
  std::optional<uint64_t> promised(const uint64_t* at) const {
    for (const Guess& guess : open_)
      if (!guess.late && guess.at == at) return guess.value;
    return {};
  }

 private:
  template <class Is>
  bool any_of(Is is) const {
    return std::any_of(open_.begin(), open_.end(), is);
  }

  std::vector<Guess> open_;
  bool failed_ = false;
};

}  // namespace rondo::weak
