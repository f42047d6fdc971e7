// Group: the calls between ncclGroupStart() and ncclGroupEnd() of a thread. Collectives and messages are
// collected by the runtime's own group, which is opened by the first of them; starts and splits here.
#pragma once

#include "outcome.h"

struct ncclComm;

namespace rondo::nccl {

struct Job;

class Group {
 public:
  static void start();
  /// InvalidUsage without a group. Where a call of the group has failed, none of the others is made.
  static Outcome end();
  /// Ends it and makes no call.
  static Outcome cancel();

  static bool is_open();
  static void add(Job job);
  /// A call on it comes now: opens the runtime's group where one is wanted.
  static Outcome enter(ncclComm& comm);
  /// Whether there are calls on it that are still to be made.
  static bool has(const ncclComm& comm);
  /// The calls that were collected are not made: a communicator of theirs ends now.
  static void drop_calls();
  /// A call of the group has failed.
  static void note_failure(const Outcome& outcome);
};

}  // namespace rondo::nccl
