// SPDX-License-Identifier: Apache-2.0
// Witnesses: whether a forked process may still use memory that it got from this one. At a fork, a page that
// no process touches is mapped shared and writable, so the child has it mapped too, until it ends or executes
// another program. The kernel refuses to seal a file against writing as long as any process has it mapped
// like that, so sealing tells. Guarded by the heap's lock.
#pragma once

#include "own_file.h"

namespace rondo::heap {

class Witnesses {
 public:
  void before_fork();
  /// The child's own children are those that count from now on.
  void after_fork_in_child();
  /// Whether any child of earlier forks, or one of theirs, may be left.
  bool any_left();

 private:
  static constexpr int kMaxWaiting = 8;

  bool set_aside();

  OwnFile mapped_;
  void* page_ = nullptr;  // of `mapped_`; null: no fork since any_left()
  OwnFile waiting_[kMaxWaiting];
  bool is_blind_ = false;  // a child may have no witness
};

}  // namespace rondo::heap
