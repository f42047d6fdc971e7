// SPDX-License-Identifier: Apache-2.0
// Parking: how a thread sleeps until another thread, process or host makes progress, and is woken by it.
//
// Beside each counter in shared memory is a flag word that says whether anyone sleeps on it, in a cache line
// the counter's writer already owns, or one written only by sleepers. Publishing therefore costs one load of
// that line, and a system call only if there is a sleeper. There is no fence between the writer's store and
// that load: a sleeper that arrives in between may be missed and sleeps until its timeout, so no sleep is
// longer than the delay a wakeup may have.
#pragma once

#include <poll.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <variant>

namespace rondo {

/// Waits for the counter to change from `seen`.
struct AwaitedCounter {
  uint64_t* counter = nullptr;
  uint64_t seen = 0;
  uint32_t* asleep = nullptr;  // its flag word
};

/// Waits for any of the sockets to become ready; negative descriptors are ignored.
struct AwaitedSockets {
  std::array<pollfd, 2> sockets{{{-1, 0, 0}, {-1, 0, 0}}};
};

/// The event has already happened: do not sleep.
struct AlreadyThere {};

/// An event that a thread can wait for. Plain data, valid while the memory is mapped; if a descriptor has
/// been closed meanwhile, the sleep may end early.
using Awaited = std::variant<std::monostate, AwaitedCounter, AwaitedSockets, AlreadyThere>;

inline bool is_known(const Awaited& awaited) { return !std::holds_alternative<std::monostate>(awaited); }

/// Sleeps until the awaited event may have happened, but at most `ns`, which must be less than a second.
void park(const Awaited& awaited, int64_t ns);

void wake_sleepers(uint32_t& asleep);

/// Called by a counter's writer after each store to it. Relaxed: see above.
inline void wake(uint32_t& asleep) {
  if (std::atomic_ref(asleep).load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake_sleepers(asleep);
}

}  // namespace rondo
