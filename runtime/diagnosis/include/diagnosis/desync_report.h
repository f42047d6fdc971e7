// SPDX-License-Identifier: Apache-2.0
// DesyncReport: the explanation of a long wait, found by asking the awaited rank, then the rank that this one
// waits for, and so on. If the chain ends without an answer, all ranks are asked, because a rank may wait for
// several and names only one. Any thread.
#pragma once

#include "bootstrap/membership.h"

namespace rondo {

/// The wait to explain.
struct PendingWait {
  int rank = -1;                            // the awaited rank; -1: unknown, so all are asked
  bool guessed = false;                     // it may wait for another rank instead
  std::optional<PendingMessages> messages;  // nullopt: the wait is in the latest call
  std::vector<uint64_t> received;           // with `messages`: messages received, by source rank
};

struct DesyncReport {
  /// What is known of the rank at the end of the chain; what explains more comes later.
  enum class ChainEnd {
    Unknown,
    Waits,   // for one already asked, or for one that it cannot name
    Gone,    // it has ended the communicator, perhaps because another rank did not answer
    Done,    // it is no longer in the call, perhaps for the same reason
    Silent,  // it did not answer
    Late,    // it has not made the call
    Circle,  // it waits for a message of one already asked
  };

  Status mismatch;    // not Ok: ranks disagree about a call, so waiting longer is pointless
  Status departed;    // not Ok: an awaited rank has left
  Status elsewhere;   // not Ok: it waits in a call on another communicator, which this rank has not made
  std::string cause;  // a sentence about the rank at the end of the chain
  ErrorKind kind{};   // what `cause` is an instance of; 0: it explains nothing
  ChainEnd end = ChainEnd::Unknown;
  int late = -1;  // the rank of which `cause` says that it is in no call; -1: none
};

/// `interrupt`: ends it early.
DesyncReport diagnose(const Membership& membership, const PendingWait& wait, const Interrupt& interrupt = {});

/// The same for a wait that has reached its deadline: `cause` also says where the late rank's program is.
DesyncReport last_diagnosis(const Membership& membership, const PendingWait& wait,
                            const Interrupt& interrupt = {});

/// "; its program is in train.py:214 (step)"; empty if that does not become known.
std::string where_text(const Membership& membership, int rank, const Deadline& deadline,
                       const Interrupt& interrupt);

/// The first recorded call about which this rank and `rank` disagree; Ok if there is none or `rank` does not
/// answer.
Status first_disagreement(const Membership& membership, int rank);

/// Mismatch if the awaited rank has ended its send of a message that this rank waits for; Ok if not, or if it
/// does not answer.
Status ended_send(const Membership& membership, const PendingWait& wait);

/// What another rank does or has done, as `cause` says, may come of one that it waited for: names the first
/// rank that does not answer before it. Asks all ranks, for two seconds at most.
Status behind_silent_rank(const Membership& membership, const Status& cause, const Interrupt& interrupt = {});

/// The error of a call, named by `what`, whose deadline has passed.
Status overdue(const Membership& membership, const std::string& what, const DesyncReport& diagnosis);

}  // namespace rondo
