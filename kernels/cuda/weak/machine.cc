// SPDX-License-Identifier: Apache-2.0
#include "machine.h"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace rondo::weak {
namespace {

constexpr size_t kStackBytes = size_t{256} * 1024;
constexpr uint64_t kMaxTurns = 120'000;  // per run; three times the longest run that terminates
constexpr uint64_t kTurnsPerHold = 64;
constexpr uint64_t kMaxHeld = 300;  // turns
constexpr uint64_t kLooksPerGuess = 8;

Machine* the_machine = nullptr;

template <class T>
void move_all(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

}  // namespace

Machine& Machine::current() { return *the_machine; }

void Machine::add_block(int device, uint32_t threads, const std::function<void(uint32_t)>& body) {
  Block& block = *blocks_.emplace_back(std::make_unique<Block>());
  block.device = device;
  block.threads = threads;
  if (devices_.size() <= static_cast<size_t>(device)) devices_.resize(static_cast<size_t>(device) + 1);
  for (uint32_t thread = 0; thread < threads; ++thread) {
    Lane& lane = *lanes_.emplace_back(std::make_unique<Lane>());
    lane.block = &block;
    lane.body = [body, thread] { body(thread); };
  }
}

void Machine::enter() {
  Lane& lane = *the_machine->running_;
  lane.body();
  lane.over = true;
  swapcontext(&lane.context, &the_machine->scheduler_);
}

void Machine::run() {
  the_machine = this;
  for (const auto& lane : lanes_) {
    lane->stack = std::make_unique_for_overwrite<std::byte[]>(kStackBytes);
    getcontext(&lane->context);
    lane->context.uc_stack.ss_sp = lane->stack.get();
    lane->context.uc_stack.ss_size = kStackBytes;
    makecontext(&lane->context, enter, 0);
  }
  std::vector<Lane*> alive;
  for (const auto& lane : lanes_) alive.push_back(lane.get());
  for (uint64_t turn = 0; !alive.empty(); ++turn) {
    if (turn == kMaxTurns) require_fulfilled();
    if (turn == kMaxTurns) throw Stuck("lanes wait for one another, or for ever");
    running_ = pick(alive);
    swapcontext(&scheduler_, &running_->context);
    if (running_->over) std::erase(alive, running_);
    if (guesses_.have_failed()) throw Impossible("a load returned what could not be stored yet");
    drain_something();
    arrive_something();
    ++time_;
  }
  require_fulfilled();
  std::for_each(in_flight_.begin(), in_flight_.end(), apply);
  for (const StoreBuffer& device : devices_) std::for_each(device.begin(), device.end(), apply);
  for (const auto& block : blocks_) std::for_each(block->buffer.begin(), block->buffer.end(), apply);
  for (const auto& lane : lanes_) std::for_each(lane->buffer.begin(), lane->buffer.end(), apply);
}

void Machine::require_fulfilled() const {
  if (guesses_.any()) throw Impossible("a load returned what was not stored after all");
}

/// Picks the lane that runs next. Occasionally holds a lane up for long, so that others get far ahead.
Machine::Lane* Machine::pick(const std::vector<Lane*>& alive) {
  Lane* lane = alive[random_() % alive.size()];
  for (size_t tries = 1; lane->held_until > time_ && tries < alive.size(); ++tries)
    lane = alive[random_() % alive.size()];
  if (random_() % kTurnsPerHold == 0) lane->held_until = time_ + random_() % kMaxHeld;
  return lane;
}

// --- memory ---

void Machine::apply(const Store& store) { std::memcpy(store.at, store.bytes.data(), store.bytes.size()); }

/// Copies the buffer's stores to [at, at + bytes) into `to`, the latest last.
void Machine::overlay(const StoreBuffer& buffer, const std::byte* at, std::byte* to, size_t bytes) {
  for (const Store& store : buffer) {
    const std::byte* begin = std::max<const std::byte*>(at, store.at);
    const std::byte* end = std::min<const std::byte*>(at + bytes, store.at + store.bytes.size());
    if (begin < end)
      std::memcpy(to + (begin - at), store.bytes.data() + (begin - store.at),
                  static_cast<size_t>(end - begin));
  }
}

void Machine::read(const void* at, void* to, size_t bytes) {
  const auto* from = static_cast<const std::byte*>(at);
  auto* result = static_cast<std::byte*>(to);
  read_cached(from, result, bytes);
  overlay(running_->block->buffer, from, result, bytes);
  overlay(running_->buffer, from, result, bytes);
}

/// Reads what is visible to all blocks of the device now.
void Machine::read_shared(const std::byte* at, std::byte* to, size_t bytes) {
  std::memcpy(to, at, bytes);
  overlay(devices_[static_cast<size_t>(running_->block->device)], at, to, bytes);
}

/// Reads through the block's cache, refreshing entries older than the lane's last acquire.
void Machine::read_cached(const std::byte* at, std::byte* to, size_t bytes) {
  constexpr size_t kGrain = sizeof(Kept::bytes);
  for (size_t done = 0; done < bytes;) {
    const auto address = reinterpret_cast<uintptr_t>(at + done);
    const size_t skipped = address % kGrain;
    const size_t part = std::min(bytes - done, kGrain - skipped);
    const auto [found, is_new] = running_->block->cache.try_emplace(address - skipped);
    Kept& kept = found->second;
    if (is_new || kept.time < running_->knows) {
      read_shared(at + done - skipped, kept.bytes.data(), kGrain);
      kept.time = time_;
    }
    std::memcpy(to + done, kept.bytes.data() + skipped, part);
    done += part;
  }
}

void Machine::write(void* at, const void* from, size_t bytes) {
  const auto* data = static_cast<const std::byte*>(from);
  running_->buffer.push_back({static_cast<std::byte*>(at), {data, data + bytes}});
  maybe_yield();
}

uint64_t Machine::load(const uint64_t* at) {
  maybe_yield();
  uint64_t value;
  read_shared(reinterpret_cast<const std::byte*>(at), reinterpret_cast<std::byte*>(&value), sizeof value);
  return value;
}

uint64_t Machine::acquire(const uint64_t* at, device::Word word) {
  const uint64_t value = load(at);
  const bool here = mutation_.which == static_cast<int>(word);
  if (!here || mutation_.kind != Mutation::Kind::DropAcquire) running_->knows = time_;
  return value;
}

void Machine::store(uint64_t* at, uint64_t value) {
  *at = value;
  maybe_yield();
}

/// If accesses to a Released word are unordered, a load may return a value that is not stored yet. A guess
/// (the next value) is worthwhile only for a lane that saw the same value before, and so is waiting for more.
uint64_t Machine::load_before_writes(const uint64_t* at) {
  if (const auto promised = guesses_.promised(at)) return *promised;
  while (guesses_.word_is_late(at)) yield();  // loads of one word keep their order
  const uint64_t value = load(at);
  const bool waits = std::exchange(running_->seen, {at, value}) == std::pair{at, value};
  const bool late = mutation_.kind == Mutation::Kind::LateLoad;
  if (!waits || (!late && mutation_.kind != Mutation::Kind::EarlyStore) || random_() % kLooksPerGuess != 0)
    return value;
  guesses_.add({.lane = running_, .at = at, .value = value + 1, .time = time_, .late = late});
  return value + 1;
}

void Machine::store_after_reads(uint64_t* at, uint64_t value) {
  guesses_.fulfil(at, value, running_->knows);
  store(at, value);
}

/// Whether no earlier store in the buffer overlaps this one.
bool Machine::may_go_first(const StoreBuffer& buffer, size_t index) {
  const Store& store = buffer[index];
  return std::none_of(
      buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(index), [&store](const Store& earlier) {
        return earlier.at < store.at + store.bytes.size() && store.at < earlier.at + earlier.bytes.size();
      });
}

/// Removes a random store that may leave the buffer; sometimes none.
std::optional<Machine::Store> Machine::one_of(StoreBuffer& buffer) {
  if (buffer.empty()) return {};
  const size_t index = random_() % buffer.size();
  if (!may_go_first(buffer, index)) return {};
  Store store = std::move(buffer[index]);
  buffer.erase(buffer.begin() + static_cast<std::ptrdiff_t>(index));
  return store;
}

/// Occasionally lets a store proceed before it must; in an eager machine, all the way to memory.
void Machine::drain_something() {
  if (random_() % 16 != 0) return;
  Lane& lane = *lanes_[random_() % lanes_.size()];
  Block& block = *lane.block;
  if (eager_) {
    StoreBuffer& device = devices_[static_cast<size_t>(block.device)];
    if (auto store = one_of(device)) apply(*store);
    if (auto store = one_of(block.buffer)) {
      forget(block, *store);
      device.push_back(std::move(*store));
    }
  }
  if (auto store = one_of(lane.buffer)) block.buffer.push_back(std::move(*store));
}

void Machine::arrive_something() {
  if (random_() % 2 != 0) return;
  if (auto store = one_of(in_flight_)) apply(*store);
}

void Machine::send(Store store) {
  if (mutation_.kind == Mutation::Kind::NarrowLines)
    devices_[static_cast<size_t>(running_->block->device)].push_back(std::move(store));
  else
    in_flight_.push_back(std::move(store));
}

void Machine::send_off(uint64_t* at, uint64_t value) {
  auto* to = reinterpret_cast<std::byte*>(at);
  std::array<std::byte, sizeof value> bytes;
  std::memcpy(bytes.data(), &value, sizeof value);
  const auto middle = bytes.begin() + sizeof value / 2;
  if (mutation_.kind == Mutation::Kind::FlagFirst) {
    send({to + sizeof value / 2, {middle, bytes.end()}});
    send({to, {bytes.begin(), middle}});
  } else {
    send({to, {bytes.begin(), bytes.end()}});
  }
  maybe_yield();
}

/// The block's cache must not hide what the block itself has stored.
void Machine::forget(Block& block, const Store& store) {
  constexpr size_t kGrain = sizeof(Kept::bytes);
  const auto begin = reinterpret_cast<uintptr_t>(store.at);
  for (uintptr_t at = begin / kGrain * kGrain; at < begin + store.bytes.size(); at += kGrain)
    block.cache.erase(at);
}

/// Makes the block's buffered stores visible to its device, and updates the block's cache.
void Machine::hand_over(Block& block) {
  for (const Store& store : block.buffer) forget(block, store);
  move_all(block.buffer, devices_[static_cast<size_t>(block.device)]);
}

void Machine::release(Scope scope, device::Word word) {
  const bool here = mutation_.which == static_cast<int>(word);
  if (here && mutation_.kind == Mutation::Kind::DropRelease) return;
  if (here && mutation_.kind == Mutation::Kind::NarrowRelease) scope = Scope::Gpu;
  while (guesses_.lane_is_late(running_)) yield();  // earlier loads stay before a release
  Block& block = *running_->block;
  StoreBuffer& device = devices_[static_cast<size_t>(block.device)];
  move_all(running_->buffer, block.buffer);
  hand_over(block);
  if (scope == Scope::Gpu) return;
  std::for_each(device.begin(), device.end(), apply);
  device.clear();
}

// --- lanes ---

void Machine::yield() {
  Lane* lane = running_;
  swapcontext(&lane->context, &scheduler_);
}

void Machine::maybe_yield() {
  if (random_() % 4 == 0) yield();
}

bool Machine::barrier(bool so, Site site) {
  barriers_.insert(site);
  if (mutation_.kind == Mutation::Kind::SkipBarrier && mutation_.site == site) return so;
  Block& block = *running_->block;
  move_all(running_->buffer, block.buffer);
  block.said |= so;
  block.knows = std::max(block.knows, running_->knows);
  const uint64_t round = block.round;
  if (++block.arrived == block.threads) {
    block.arrived = 0;
    block.answer = block.said;
    block.said = false;
    ++block.round;
  }
  while (block.round == round) yield();
  running_->knows = std::max(running_->knows, block.knows);
  return block.answer;
}

// --- groups of lanes ---

/// Waits for all lanes of the group; the last to arrive runs the action.
template <class Action>
void Machine::meet(Group& group, uint32_t lanes, Action action) {
  const uint64_t round = group.round;
  if (++group.arrived == lanes) {
    group.arrived = 0;
    action();
    ++group.round;
  }
  while (group.round == round) yield();
}

void Machine::load_line(const void* line, uint32_t group, uint32_t lanes, LineBytes& to) {
  Group& all = running_->block->groups[group];
  maybe_yield();
  meet(all, lanes, [&] { read_shared(static_cast<const std::byte*>(line), all.loaded.data(), to.size()); });
  to = all.loaded;
}

void Machine::store_line(void* line, uint32_t group, uint32_t lanes, size_t offset, const void* from,
                         size_t bytes) {
  Group& all = running_->block->groups[group];
  std::memcpy(all.stored.data() + offset, from, bytes);
  meet(all, lanes, [&] {
    auto* to = static_cast<std::byte*>(line);
    const bool in_parts = mutation_.kind == Mutation::Kind::FlagFirst;
    const size_t part = in_parts ? 16 : all.stored.size();
    for (size_t end = all.stored.size(); end > 0; end -= part)
      send({to + end - part,
            {all.stored.begin() + static_cast<std::ptrdiff_t>(end - part),
             all.stored.begin() + static_cast<std::ptrdiff_t>(end)}});
  });
  maybe_yield();
}

uint64_t Machine::share(uint64_t value, bool is_its, uint32_t group, uint32_t lanes) {
  Group& all = running_->block->groups[group];
  if (is_its) all.given = value;
  meet(all, lanes, [&] { all.shared = all.given; });
  return all.shared;
}

}  // namespace rondo::weak
