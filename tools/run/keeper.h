// A small process that outlives rondo-run for a moment: should rondo-run be killed, it ends what the ranks
// have started. (The ranks themselves die with rondo-run; their children would not.) Used by the one thread
// of rondo-run.
#pragma once

#include <sys/types.h>

namespace rondo::run {

class Keeper {
 public:
  Keeper() = default;
  Keeper(const Keeper&) = delete;
  Keeper& operator=(const Keeper&) = delete;
  ~Keeper();

  /// Starts the process. False where the system refuses.
  bool start();

  /// Tells it of a process group to end when rondo-run is no more.
  void add(pid_t group);

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
};

}  // namespace rondo::run
