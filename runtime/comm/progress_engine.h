// SPDX-License-Identifier: Apache-2.0
// The progress engine: runs the calls of a group, of any mix of communicators, on the calling thread. All of
// them progress concurrently; the collectives of one communicator run in order. Every wait checks the
// communicator's health, its connections and its deadline; a long wait is diagnosed.
#pragma once

#include <span>

#include "base/status.h"
#include "comm/group.h"

namespace rondo {

/// Makes a call and runs it to its end; a refused call is not made.
Status run_to_completion(Communicator& communicator, const CallRequest& request);
/// The same for a call whose plan was made for it.
Status run_to_completion(Communicator& communicator, const PlannedCall& call);
/// The same for sends and receives.
Status run_to_completion(Communicator& communicator, std::span<UserMessage> messages);
/// The first look at one, which completes most short ones; false if it needs run_to_completion().
bool is_done_at_once(UserMessage& message);
/// The same for ops: carries out all that it can and returns the first error, if any; else calls each
/// finish().
Status run_to_completion(std::span<const GroupOp> ops);

/// For a group or a queue's calls that ran out of memory: the caller cannot tell which of them did, so all
/// their communicators fail. Returns the cause.
template <typename Ops>
Status fail_all(const Ops& ops) {
  for (const auto& one : ops) static_cast<void>(one.communicator->membership().fail(out_of_memory()));
  return ops.front().communicator->membership().cause();
}

}  // namespace rondo
