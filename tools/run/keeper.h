// SPDX-License-Identifier: Apache-2.0
// A small process that briefly outlives rondo-run: if rondo-run is killed, it ends the processes that the
// ranks have started. (The ranks themselves die with rondo-run; their children would not.) Used by
// rondo-run's only thread.
#pragma once

#include <sys/types.h>

namespace rondo::run {

class Keeper {
 public:
  Keeper() = default;
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper();

  /// Starts the process. False on failure.
  bool start();

  /// Registers a process group to kill if rondo-run dies.
  void add(pid_t group);

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
};

}  // namespace rondo::run
