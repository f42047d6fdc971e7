// SPDX-License-Identifier: Apache-2.0
// Machine: devices, blocks and lanes on one host thread, for tests of device code. Lanes are fibers that a
// seeded scheduler switches between. As on a GPU, a lane's stores stay in its own buffer and reach others
// late and in any order, until a barrier passes them to its block, or a release of sufficient scope to all:
//
//     lane buffer ── barrier ──► block buffer ── release.gpu ──► device buffer ── release.sys ──► memory
//
// A store may move on before it must. Lines (../lines.h) are different: their words, or whole LL128 lines, go
// to memory separately, at any time and in any order. Reads check the buffers of the lane and its block, then
// the block's cache, which may be stale unless an acquire has intervened, then the device's buffer and
// memory. One thing can be broken on purpose (Mutation). Used by one thread.
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

/// A source location: file and line.
using Site = std::pair<std::string_view, int>;

/// A fault injected into the running device code.
struct Mutation {
  enum class Kind {
    None,
    DropRelease,    // no release of the Word `which`
    NarrowRelease,  // its release has only gpu scope
    DropAcquire,    // no acquire of it
    SkipBarrier,    // at `site`
    FlagFirst,      // LL words, or the Packs of LL128 lines, arrive in parts
    NarrowLines,    // lines reach only their own device
    EarlyStore,     // store_after_reads() is visible before the reads that precede it (guesses.h)
    LateLoad,       // load_before_writes() is performed after the writes that follow it (guesses.h)
  } kind = Kind::None;
  int which = 0;
  Site site = {};
};

using LineBytes = std::array<std::byte, 128>;

/// Deadlock or livelock.
struct Stuck : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The run is not a possible execution: a load returned a value that was not stored in time (guesses.h).
struct Impossible : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Machine {
 public:
  Machine(uint64_t seed, Mutation mutation)
      : random_(seed), mutation_(mutation), eager_(random_() % 2 == 0) {}
  /// The running machine.
  static Machine& current();

  /// Adds a block of `threads` lanes, each of which runs `body(thread)`.
  void add_block(int device, uint32_t threads, const std::function<void(uint32_t)>& body);
  /// Runs all lanes to completion, after which all stores are in memory; throws Stuck or Impossible.
  void run();
  /// The barriers that lanes have reached.
  const std::set<Site>& barriers() const { return barriers_; }

  // Operations of device code, on the running lane:
  void read(const void* at, void* to, size_t bytes);
  void write(void* at, const void* from, size_t bytes);
  uint64_t load(const uint64_t* at);
  uint64_t acquire(const uint64_t* at, device::Word word);
  void store(uint64_t* at, uint64_t value);
  uint64_t load_before_writes(const uint64_t* at);
  void store_after_reads(uint64_t* at, uint64_t value);
  void release(Scope scope, device::Word word);
  /// A store of a line's word, which arrives at any later time.
  void send_off(uint64_t* at, uint64_t value);
  /// Whether any lane of the block passed true.
  bool barrier(bool so, Site site);
  void yield();

  // Operations of a group of `lanes` lanes of a block: atomic access to a line; sharing one lane's value.
  void load_line(const void* line, uint32_t group, uint32_t lanes, LineBytes& to);
  void store_line(void* line, uint32_t group, uint32_t lanes, size_t offset, const void* from, size_t bytes);
  uint64_t share(uint64_t value, bool is_its, uint32_t group, uint32_t lanes);

 private:
  struct Store {
    std::byte* at;
    std::vector<std::byte> bytes;
  };
  using StoreBuffer = std::vector<Store>;
  /// Eight cached bytes, read at `time`.
  struct Kept {
    std::array<std::byte, 8> bytes;
    uint64_t time;
  };
  struct Group {
    uint32_t arrived = 0;
    uint64_t round = 0;
    LineBytes stored;  // by the lanes, until all have arrived
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
    uint64_t knows = 0;  // max of its lanes at their barriers
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
    uint64_t knows = 0;                           // time of its last acquire: older cache entries are stale
    std::pair<const uint64_t*, uint64_t> seen{};  // latest load of load_before_writes()
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
  bool eager_;  // stores may leave their block early
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
