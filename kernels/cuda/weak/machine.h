// Machine: devices, blocks and lanes on one host thread, for tests of device code. Lanes are fibers that a
// seeded scheduler switches between. What a lane writes stays in a buffer of its own, as on a GPU, and
// reaches others late and in any order, until a barrier hands it to its block, or a release of wide enough
// scope to everybody:
//
//     lane's buffer ── barrier ──► block's buffer ── release, gpu ──► device's buffer ── release, sys ──►
//     memory
//
// Any of them may go its way before it must. Lines (../lines.h) are different: their words, or whole lines of
// LL128, go to memory one by one, in their own time and any order. Reads look through the buffers of the lane
// and its block, then at what the block's cache has kept, which may be old unless an acquire has come in
// between, then at the device's buffer and memory. One thing can be broken on purpose (Mutation). Used by one
// thread.
#pragma once

#include <ucontext.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "guesses.h"
#include "word.h"

namespace rondo::weak {

enum class Scope { Gpu, Sys };

/// A place in the source: its file and line.
using Site = std::pair<std::string_view, int>;

/// What is wrong with the device code that runs.
struct Mutation {
  enum class Kind {
    None,
    DropRelease,    // of the Word `which`
    NarrowRelease,  // likewise: its scope
    DropAcquire,    // likewise
    SkipBarrier,    // at `site`
    FlagFirst,      // the words of a line of LL, or the Packs of one of LL128, arrive in parts
    NarrowLines,    // the scope of lines
    EarlyStore,     // store_after_reads() is seen before the reads that it comes after (guesses.h)
    LateLoad,       // load_before_writes() looks after the writes that it comes before (guesses.h)
  } kind = Kind::None;
  int which = 0;
  Site site = {};
};

using LineBytes = std::array<std::byte, 128>;

/// Nobody can go on, or nobody ever ends.
struct Stuck : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// What came about cannot: a load returned what nobody stored in time (guesses.h).
struct Impossible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Machine {
 public:
  Machine(uint64_t seed, Mutation mutation)
      : random_(seed), mutation_(mutation), eager_(random_() % 2 == 0) {}
  /// The machine that runs on this thread.
  static Machine& current();

  /// A block of `threads` lanes, which run `body(thread)`.
  void add_block(int device, uint32_t threads, const std::function<void(uint32_t)>& body);
  /// Runs all lanes to their ends; throws Stuck where that does not come, or Impossible. Everything is in
  /// memory then.
  void run();
  /// The barriers that lanes came by.
  const std::set<Site>& barriers() const { return barriers_; }

  // What device code does, on the lane that runs:
  void read(const void* at, void* to, size_t bytes);
  void write(void* at, const void* from, size_t bytes);
  uint64_t load(const uint64_t* at);
  uint64_t acquire(const uint64_t* at, device::Word word);
  void store(uint64_t* at, uint64_t value);
  uint64_t load_before_writes(const uint64_t* at);
  void store_after_reads(uint64_t* at, uint64_t value);
  void release(Scope scope, device::Word word);
  /// A store that arrives in its own time.
  void send_off(uint64_t* at, uint64_t value);
  /// Whether any lane of the block says so.
  bool barrier(bool so, Site site);
  void yield();

  // What `lanes` lanes of a block do together, group by group: a line at one moment, the value of one.
  void load_line(const void* line, uint32_t group, uint32_t lanes, LineBytes& to);
  void store_line(void* line, uint32_t group, uint32_t lanes, size_t offset, const void* from, size_t bytes);
  uint64_t share(uint64_t value, bool is_its, uint32_t group, uint32_t lanes);

 private:
  struct Store {
    std::byte* at;
    std::vector<std::byte> bytes;
  };
  using StoreBuffer = std::vector<Store>;
  /// Eight bytes as they were at that time.
  struct Kept {
    std::array<std::byte, 8> bytes;
    uint64_t time;
  };
  struct Group {
    uint32_t arrived = 0;
    uint64_t round = 0;
    LineBytes stored;  // by the lanes, until all have come
    LineBytes loaded;
    uint64_t given = 0;
    uint64_t shared = 0;
  };
  struct Block {
    int device = 0;
    uint32_t threads = 0;
    uint32_t arrived = 0;
    uint64_t round = 0;  // barriers passed
    bool said = false;
    bool answer = false;
    uint64_t knows = 0;  // the latest of its lanes that came to the barrier
    StoreBuffer buffer;
    std::unordered_map<uintptr_t, Kept> cache;  // by address
    std::map<uint32_t, Group> groups;
  };
  struct Lane {
    Block* block = nullptr;
    StoreBuffer buffer;
    std::function<void()> body;
    std::unique_ptr<std::byte[]> stack;
    ucontext_t context{};
    bool over = false;
    uint64_t held_until = 0;
    uint64_t knows = 0;  // until when it has acquired: what the cache kept before that is too old
    std::pair<const uint64_t*, uint64_t> seen{};  // what load_before_writes() returned last
  };

  static void enter();
  void require_fulfilled() const;
  Lane* pick(const std::vector<Lane*>& alive);
  static void apply(const Store& store);
  static void overlay(const StoreBuffer& buffer, const std::byte* at, std::byte* to, size_t bytes);
  std::optional<Store> one_of(StoreBuffer& buffer);
  void drain_something();
  void arrive_something();
  static bool may_go_first(const StoreBuffer& buffer, size_t index);
  void hand_over(Block& block);
  static void forget(Block& block, const Store& store);
  void read_shared(const std::byte* at, std::byte* to, size_t bytes);
  void read_cached(const std::byte* at, std::byte* to, size_t bytes);
  void send(Store store);
  template <class Action>
  void meet(Group& group, uint32_t lanes, Action action);
  void maybe_yield();

  std::mt19937_64 random_;
  Mutation mutation_;
  bool eager_;  // stores may leave their block before they must
  std::set<Site> barriers_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<StoreBuffer> devices_;
  StoreBuffer in_flight_;  // lines
  Guesses guesses_;
  uint64_t time_ = 0;
  Lane* running_ = nullptr;
  ucontext_t scheduler_{};
};

}  // namespace rondo::weak
