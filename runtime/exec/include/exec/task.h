// SPDX-License-Identifier: Apache-2.0
// Task: work that progresses in small steps and never blocks; the caller decides how to wait. A task belongs
// to one thread at a time.
#pragma once

#include <sched.h>

#include "base/park.h"
#include "base/status.h"

namespace rondo {

enum class Progress {
  Stuck,  // no progress is possible now
  Moved,  // made progress; more is left
  Done,
  Failed,  // see Task::status()
};

class Task {
 public:
  /// See OversubscribedSpin: a collective's ranks run at the same time.
  static constexpr int64_t kOversubscribedSpin_ns = 500;

  virtual ~Task() = default;
  /// Done and Failed are final: advancing a failed task fails again.
  virtual Progress advance() = 0;
  /// Why it failed.
  virtual Status status() const = 0;
  /// After a failure: whether all ranks failed alike before doing anything, so that they may continue.
  virtual bool refused() const { return false; }
  /// The rank whose data or free slot the task waits for; -1 if unknown.
  virtual int blocked_on() const = 0;
  /// If stuck: polls for a moment, or until there may be something to do.
  virtual void poll_briefly() const {}
  /// If stuck: whether this thread may keep the ranks that it waits for from running. `oversubscribed`: ranks
  /// outnumber CPUs, which decides if the task does not know which CPU they run on.
  virtual bool may_block_others(bool oversubscribed) { return oversubscribed; }
  /// If stuck: what a thread may sleep on before it advances the task again; empty if unknown.
  virtual Awaited awaited() { return {}; }
  /// If stuck: yields the CPU.
  virtual void let_others_run() { ::sched_yield(); }
  /// The task will not be advanced again: withdraws what peers could still read in the caller's memory.
  virtual void abandon() {}
  /// Sticky error of a connection that it waits for. Checked only if there is no progress.
  virtual Status connection_status() const { return {}; }
};

}  // namespace rondo
