#include "comm/driver.h"

#include <algorithm>
#include <vector>

#include "base/clock.h"
#include "base/limits.h"
#include "comm/part.h"
#include "exec/patience.h"

namespace rondo {
namespace {

/// How often a call is advanced before a wait counts as one that has to be looked into.
constexpr int kQuickTurns = 256;
constexpr int kQuickYields = 64;

/// How long to spin where ranks outnumber CPUs: less than it costs to let another rank run.
class CrowdedSpin {
 public:
  /// `crowded`: otherwise there is no end to it.
  explicit CrowdedSpin(bool crowded) : crowded_(crowded) {}
  bool is_over() {
    if (!crowded_) return false;
    if (began_ns_ == 0) began_ns_ = now_ns();
    return now_ns() - began_ns_ > kTurn_ns;
  }

 private:
  static constexpr int64_t kTurn_ns = 500;
  bool crowded_;
  int64_t began_ns_ = 0;
};

/// Of several the first of which it is known.
Awaited awaited_by(std::span<Part> parts) {
  for (Part& part : parts)
    if (const Awaited awaited = part.awaited(); is_known(awaited)) return awaited;
  return {};
}

/// Runs them to their ends.
void run_parts(std::span<Part> parts) {
  bool crowded = false;
  for (Part& part : parts) crowded = crowded || part.communicator().crowded();
  Patience patience(crowded, [parts](int64_t ns) { doze(awaited_by(parts), ns); });
  for (bool all_over = false; !all_over;) {
    bool moved = false;
    all_over = true;
    for (Part& part : parts) {
      if (part.over()) continue;
      moved = part.advance() != Progress::Stuck || moved;
      all_over = all_over && part.over();
    }
    if (moved) {
      patience.reset();
    } else if (patience.wait()) {
      for (Part& part : parts) part.look(patience.waited_ns());
    }
  }
}

Status run_group(std::span<const Item> items) {
  MessageStreams streams;
  std::vector<Part> parts;
  parts.reserve(items.size());  // so that they stay where they are
  for (const Item& item : items) {
    const bool known = std::any_of(parts.begin(), parts.end(),
                                   [&](Part& part) { return &part.communicator() == item.communicator; });
    if (!known) parts.emplace_back(*item.communicator, items, streams);
  }
  run_parts(parts);
  for (const Part& part : parts) RONDO_TRY(part.status());
  return {};
}

/// Polls inline for the common case of a short call; false if it needs the full progress loop. Where ranks
/// outnumber CPUs it yields at once to those that share this CPU; the others are already running.
bool is_quickly_done(Communicator& communicator, Task& task) {
  for (int yields = 0; yields < kQuickYields; ++yields) {
    CrowdedSpin spin(communicator.crowded());
    for (int turns = 0; turns < kQuickTurns; ++turns) {
      const Progress progress = task.advance();
      if (progress == Progress::Failed) return false;
      if (progress == Progress::Done) {
        communicator.board().end();
        return true;
      }
      if (progress != Progress::Stuck) continue;
      if (task.may_block_others(communicator.crowded()) || spin.is_over()) break;
      task.linger();
    }
    if (communicator.health().failed()) return false;
    task.let_others_run();
  }
  return false;
}

/// `prepared`: where the item is a call that has been.
Status run_one(const Item& item, const Result<Task*>* prepared = nullptr) {
  MessageStreams streams;
  Part part(*item.communicator, {&item, 1}, streams);
  if (prepared != nullptr) part.take_up(*prepared);
  run_parts({&part, 1});
  return part.status();
}

}  // namespace

Status drive(Communicator& communicator, const Call& call) {
  if (communicator.health().failed()) return communicator.health().cause();
  const Result<Task*> prepared = communicator.prepare(call);
  if (prepared.ok() && !call.place.on_gpu && is_quickly_done(communicator, *prepared.value())) return {};
  return run_one({.communicator = &communicator, .what = call}, &prepared);
}

Status drive(Communicator& communicator, const PlainCall& call, Task* begun) {
  if (is_quickly_done(communicator, *begun)) return {};
  const Result<Task*> prepared = begun;
  return run_one({.communicator = &communicator, .what = call.call()}, &prepared);
}

Status drive(Communicator& communicator, std::span<UserMessage> messages) {
  if (communicator.health().failed()) return communicator.health().cause();
  MessagesAtOnce at_once(communicator.messages(), messages);
  const bool all = is_quickly_done(communicator, at_once);
  std::vector<Item> left;
  for (const UserMessage& message : messages) {
    if (message.is_done())
      message.finish();
    else
      left.push_back(message.item());
  }
  return all ? Status() : drive(left);
}

/// On queues and in groups the caller does not see which call there was no memory for.
Status drive(std::span<const Item> items) try {
  RONDO_TRY(items.size() == 1 ? run_one(items.front()) : run_group(items));
  for (const Item& item : items)
    if (item.finish) item.finish();
  return {};
} catch (const std::bad_alloc&) {
  for (const Item& item : items) static_cast<void>(item.communicator->fail(out_of_memory()));
  return items.front().communicator->health().cause();
}

}  // namespace rondo
