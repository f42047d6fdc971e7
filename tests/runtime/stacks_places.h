// SPDX-License-Identifier: Apache-2.0
// Functions in which the threads of stacks_test.cc run or wait, compiled in three ways.
#pragma once

#include <pthread.h>

#include <atomic>

namespace rondo::test {

/// What a thread gets to be there, and how it ended.
struct Pastime {
  std::atomic<bool> ends{false};
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  int pipe[2] = {-1, -1};
  long sleep_ns = 0;
  long turns = 0;
  int error_number = 0;  // as the system call said
};

struct PlaceFunctions {
  using Function = void (*)(Pastime&);
  Function turn;        // until pastime.ends
  Function take_nap;    // nanosleep()
  Function take_lock;   // pthread_mutex_lock()
  Function read_byte;   // read()
  Function await_byte;  // poll()
};

namespace optimized {
PlaceFunctions functions();  // without frame pointers
}
namespace framed {
PlaceFunctions functions();  // the same with them
}
namespace plain {
PlaceFunctions functions();  // not optimized
}

}  // namespace rondo::test
