// SPDX-License-Identifier: Apache-2.0
// Witnesses: whether a forked process may still use memory that it got from this one. At a fork, a page that
// no process touches is mapped shared and writable, so the child has it mapped too, until it ends or executes
// another program. The kernel refuses to seal a file against writing as long as any process has it mapped
// like that, so sealing tells. Guarded by the heap's lock.
#pragma once

#include <cstdint>

#include "own_file.h"

namespace rondo::heap {

class Witnesses {
 public:
  /// `is_new`: the child gets memory that children of earlier forks do not have.
  void before_fork(bool is_new);
  /// The child's own children are those that count from now on.
  void after_fork_in_child();
  /// The number of the latest fork.
  uint64_t latest() const { return latest_; }
  /// Whether any child of the forks `from` to `to`, or one of theirs, may be left.
  bool any_left(uint64_t from, uint64_t to);

 private:
  static constexpr int kMaxWaiting = 32;
  struct Witness {
    OwnFile file;
    uint64_t first = 0, last = 0;  // forks
    bool concerns(uint64_t from, uint64_t to) const { return first <= to && last >= from; }
  };

  bool set_aside();

  uint64_t latest_ = 0;
  Witness now_;
  void* page_ = nullptr;  // of now_'s file; null: no fork since it was set aside
  Witness waiting_[kMaxWaiting];
  uint64_t blind_ = 0;  // the latest fork whose child may have no witness
};

}  // namespace rondo::heap
