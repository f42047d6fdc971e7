// SPDX-License-Identifier: Apache-2.0
// GroupCalls: a thread's calls between ncclGroupStart() and ncclGroupEnd(). Collectives and messages are
// collected by the runtime's own group, which the first of them opens; initializations and splits are
// collected here.
#pragma once

#include "outcome.h"

struct ncclComm;

namespace rondo::nccl {

struct CommTask;

class GroupCalls {
 public:
  static void start();
  /// InvalidUsage without a group. If a call of the group has failed, none of the others is made.
  static Outcome end();
  /// Ends the group and drops its calls.
  static Outcome cancel();

  static bool is_open();
  static void add(CommTask job);
  /// Called before each call on `comm`: within a group, opens the runtime's group if it is not open yet.
  static Outcome enter(ncclComm& comm);
  /// Whether collected calls on `comm` are still pending.
  static bool has(const ncclComm& comm);
  /// Drops the collected calls because one of their communicators ends now.
  static void drop_calls();
  /// Records that a call of the group has failed.
  static void note_failure(const Outcome& outcome);
};

}  // namespace rondo::nccl
