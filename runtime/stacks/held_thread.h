// SPDX-License-Identifier: Apache-2.0
// HeldThread: a running thread of the program, held for a moment in a handler of SIGURG so that its registers
// and its stack can be read. SIGURG is ignored where it has no handler, so one that comes late does nothing;
// a program that has given it a handler, or blocks it in that thread, is left alone. One at a time in a
// process; used by one thread. x86-64.
#pragma once

#include <sys/types.h>

#include <string>

#include "stack_walk.h"

namespace rondo {

class HeldThread {
 public:
  /// Leaves it alone unless it has waited `waited` times so far (times_waited()): one that waits now and then
  /// is about to, and the signal would end its wait.
  HeldThread(pid_t thread, const std::string& waited);
  /// Lets it go on.
  ~HeldThread();
  HeldThread(const HeldThread&) = delete;
  HeldThread& operator=(const HeldThread&) = delete;

  /// Nothing if the thread could not be held.
  std::optional<ThreadRegisters> registers() const;
  /// Lets it go on; false if it has gone on before, so that what was read of its stack may be wrong.
  bool release();

 private:
  bool is_installed_ = false;
  bool is_held_ = false;
};

}  // namespace rondo
