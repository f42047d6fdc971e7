// SPDX-License-Identifier: Apache-2.0
// STACKS_KIND: how this is compiled.
#include "stacks_places.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace rondo::test::STACKS_KIND {

// Each does something after its call, so that its frame is still there.

void turn(Pastime& pastime) {
  while (!pastime.ends.load(std::memory_order_relaxed)) ++pastime.turns;
}

void take_nap(Pastime& pastime) {
  const timespec span{.tv_sec = pastime.sleep_ns / 1'000'000'000,
                      .tv_nsec = pastime.sleep_ns % 1'000'000'000};
  pastime.error_number = ::nanosleep(&span, nullptr) == 0 ? 0 : errno;
}

void take_lock(Pastime& pastime) {
  pastime.error_number = ::pthread_mutex_lock(&pastime.mutex);
  ::pthread_mutex_unlock(&pastime.mutex);
}

void read_byte(Pastime& pastime) {
  char byte = 0;
  pastime.error_number = ::read(pastime.pipe[0], &byte, 1) == 1 ? 0 : errno;
}

void await_byte(Pastime& pastime) {
  pollfd what{.fd = pastime.pipe[0], .events = POLLIN, .revents = 0};
  constexpr int kMax_ms = 60'000;
  pastime.error_number = ::poll(&what, 1, kMax_ms) == 1 ? 0 : errno;
}

PlaceFunctions functions() {
  return {.turn = turn,
          .take_nap = take_nap,
          .take_lock = take_lock,
          .read_byte = read_byte,
          .await_byte = await_byte};
}

}  // namespace rondo::test::STACKS_KIND
