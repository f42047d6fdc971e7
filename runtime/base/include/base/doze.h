// Doze: how a thread sleeps for something that another thread, process or host brings, and is woken by it.
//
// Beside each counter in shared memory is a word that says whether anyone sleeps on it, in a cache line the
// counter's writer already owns, or one written only by sleepers. Publishing therefore costs one load of that
// line, and a system call only if there is a sleeper. There is no fence between the writer's store and that
// load: a sleeper that arrives at that very moment may be missed and sleeps until its timeout, so no sleep is
// longer than a wakeup may be late.
#pragma once

#include <poll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <variant>

namespace rondo {

/// A counter that is no longer what it was seen to be.
struct AwaitedCounter {
  uint64_t* counter = nullptr;
  uint64_t seen = 0;
  uint32_t* asleep = nullptr;  // its word
};

/// Sockets on which something can be done; those with a negative descriptor do not count.
struct AwaitedSockets {
  std::array<pollfd, 2> sockets{{{-1, 0, 0}, {-1, 0, 0}}};
};

/// What has come since it was asked for.
struct AlreadyThere {};

/// What a thread can sleep for. Plain data, good for as long as the memory is mapped; where a descriptor has
/// been closed meanwhile, the sleep may be too short.
using Awaited = std::variant<std::monostate, AwaitedCounter, AwaitedSockets, AlreadyThere>;

inline bool is_known(const Awaited& awaited) { return !std::holds_alternative<std::monostate>(awaited); }

/// Sleeps for at most `ns`, less than a second, and not much longer than until what is awaited may have come.
void doze(const Awaited& awaited, int64_t ns);

void wake_sleepers(uint32_t& asleep);

/// What a counter's writer does after it has stored it. Relaxed: see above.
inline void rouse(uint32_t& asleep) {
  if (std::atomic_ref(asleep).load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake_sleepers(asleep);
}

}  // namespace rondo
