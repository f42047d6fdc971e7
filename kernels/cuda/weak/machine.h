// Machine: devices, blocks and lanes on one host thread, for tests of device code. Lanes are fibers that a
// seeded scheduler switches between. What a lane writes stays in a buffer of its own, as on a GPU, and
// reaches others late and in any order, until a barrier hands it to its block, or a release of wide enough
// scope to everybody:
//
//     lane's buffer ── barrier ──► block's buffer ── release, gpu ──► device's buffer ── release, sys ──►
//     memory
//
// Reads look through the buffers of the lane, its block and its device, then at memory. One can be broken on
// purpose: a fence left out, a scope narrowed, a barrier skipped. Used by one thread.
#pragma once

#include <ucontext.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <random>
#include <set>
#include <stdexcept>
#include <vector>

#include "word.h"

namespace rondo::weak {

enum class Scope { Gpu, Sys };

/// What is wrong with the device code that runs: the release of a word, or the barrier at a line.
struct Mutation {
  enum class Kind { None, DropRelease, NarrowRelease, SkipBarrier } kind = Kind::None;
  int which = 0;
};

/// Nobody can go on, or nobody ever ends.
struct Stuck : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Machine {
 public:
  Machine(uint64_t seed, Mutation mutation) : random_(seed), mutation_(mutation) {}
  /// The machine that runs on this thread.
  static Machine& current();

  /// A block of `threads` lanes, which run `body(thread)`.
  void add_block(int device, uint32_t threads, const std::function<void(uint32_t)>& body);
  /// Runs all lanes to their ends; throws Stuck where that does not come. Everything is in memory then.
  void run();
  /// The lines of the barriers that lanes came by.
  const std::set<int>& barriers() const { return barriers_; }

  // What device code does, on the lane that runs:
  void read(const void* at, void* to, size_t bytes);
  void write(void* at, const void* from, size_t bytes);
  uint64_t load(const uint64_t* at);
  void store(uint64_t* at, uint64_t value);
  void release(Scope scope, device::Word word);
  /// Whether any lane of the block says so.
  bool barrier(bool so, int line);
  void yield();

 private:
  struct Store {
    std::byte* at;
    std::vector<std::byte> bytes;
  };
  using StoreBuffer = std::vector<Store>;
  struct Block {
    int device = 0;
    uint32_t threads = 0;
    uint32_t arrived = 0;
    uint64_t round = 0;  // barriers passed
    bool said = false;
    bool answer = false;
    StoreBuffer buffer;
  };
  struct Lane {
    Block* block = nullptr;
    StoreBuffer buffer;
    std::function<void()> body;
    std::unique_ptr<std::byte[]> stack;
    ucontext_t context{};
    bool over = false;
  };

  static void enter();
  static void apply(const Store& store);
  static void overlay(const StoreBuffer& buffer, const std::byte* at, std::byte* to, size_t bytes);
  void drain_something();
  bool may_go_first(const StoreBuffer& buffer, size_t index) const;
  void maybe_yield();

  std::mt19937_64 random_;
  Mutation mutation_;
  std::set<int> barriers_;
  std::vector<std::unique_ptr<Block>> blocks_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::vector<StoreBuffer> devices_;
  Lane* running_ = nullptr;
  ucontext_t scheduler_{};
};

}  // namespace rondo::weak
