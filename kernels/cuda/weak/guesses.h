// Guesses: what loads of a word returned before it was stored there. On a machine that puts loads and stores
// of different words in any order, a lane may see a store before the reads that stand before it in the code
// are done, and may make its writes seen before a load that stands before them. Lanes of the simulated
// machine take one step after the other, so neither can be carried out as such. Both come to the same: a load
// returns what is stored later. So the load guesses, and the run counts only if the guess comes true in time:
//
//     early store    the store is seen from the guess on. That cannot be before the last acquire that comes
//                    before the store, since what follows an acquire stays behind it
//     late load      the load looks when the store is done. That cannot be after the next release of its
//     lane,
//                    nor after the next load of the word
//
// This is the promise of "A promising semantics for relaxed-memory concurrency" (Kang, Hur, Lahav, Vafeiadis,
// Dreyer, POPL 2017). The machine's alone; used by one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace rondo::weak {

class Guesses {
 public:
  struct Guess {
    const void* lane;  // whose load it was
    const uint64_t* at;
    uint64_t value;
    uint64_t time;
    bool late;  // the load is; otherwise the store is early
  };

  void add(const Guess& guess) { open_.push_back(guess); }
  /// Somebody stores who acquired last at `acquired`.
  void fulfil(const uint64_t* at, uint64_t value, uint64_t acquired) {
    std::erase_if(open_, [&](const Guess& guess) {
      if (guess.at != at || guess.value != value) return false;
      failed_ |= !guess.late && acquired >= guess.time;
      return true;
    });
  }
  /// Whether some have not come true yet; whether one never will.
  bool any() const { return !open_.empty(); }
  bool have_failed() const { return failed_; }
  /// Whether a load by the lane, or one of the word, has not looked yet.
  bool lane_is_late(const void* lane) const {
    return any_of([lane](const Guess& guess) { return guess.late && guess.lane == lane; });
  }
  bool word_is_late(const uint64_t* at) const {
    return any_of([at](const Guess& guess) { return guess.late && guess.at == at; });
  }
  /// What an early store of the word is, which all see.
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
