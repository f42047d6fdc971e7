// Task: something that makes progress in small steps and never blocks. Whoever drives it decides how to wait.
// A task belongs to one thread at a time.
#pragma once

#include <sched.h>

#include "base/doze.h"
#include "base/status.h"

namespace rondo {

enum class Progress {
  Stuck,  // nothing could be done now
  Moved,  // something was done; more is left
  Done,
  Failed,  // see Task::status()
};

class Task {
 public:
  virtual ~Task() = default;
  /// Done and Failed are final: who advances a task that has failed is told so again.
  virtual Progress advance() = 0;
  /// Why it failed.
  virtual Status status() const = 0;
  /// Where it failed: whether all ranks failed alike before anything was done, so that they may go on.
  virtual bool refused() const { return false; }
  /// The rank whose data or room the task waits for; -1 where it is not known.
  virtual int blocked_on() const = 0;
  /// Stuck: spins for a moment, or until there may be something to do.
  virtual void linger() const {}
  /// Stuck: whether this thread may keep those that it waits for from running. `crowded`: ranks outnumber
  /// CPUs, which is all there is to go by where the task does not know on which CPU they are.
  virtual bool may_block_others(bool crowded) { return crowded; }
  /// Stuck: what a thread may sleep for before it advances the task again; nothing where that is not known.
  virtual Awaited awaited() { return {}; }
  /// Stuck, and others may run.
  virtual void let_others_run() { ::sched_yield(); }
  /// It will not be advanced any more: takes back what peers could still read in the caller's memory.
  virtual void abandon() {}
  /// What broke in a connection that it waits for, if anything did. Looked at when nothing moves.
  virtual Status connection_status() const { return {}; }
};

}  // namespace rondo
