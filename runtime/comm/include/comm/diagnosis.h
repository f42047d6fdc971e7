// Diagnosis: finds out why a wait lasts, by asking the rank that is waited for, then the one which that rank
// waits for, and so on; and all others where that leads nowhere: a rank may wait for several, and names one.
// Any thread.
#pragma once

#include "comm/communicator.h"

namespace rondo {

/// What lasts.
struct Wait {
  int rank = -1;                            // that is waited for; -1: it is not known, and all are asked
  std::optional<PendingMessages> messages;  // nothing: it is for the latest call
};

struct Diagnosis {
  Status mismatch;    // not Ok: ranks disagree about a call; no use in waiting on
  Status departed;    // not Ok: a rank that is waited for is not there any more
  Status elsewhere;   // not Ok: it waits in a call of another communicator, to which this rank has not come
  std::string cause;  // a sentence about whoever is at the end of the chain
  bool late = false;  // who has not come to the call
  bool open = false;  // who itself waits for one that was asked already, or cannot say for whom
};

Diagnosis diagnose(Communicator& communicator, const Wait& wait);

/// The first call about which this rank and that one disagree, as far as both remember and that one answers.
Status first_disagreement(Communicator& communicator, int rank);

/// The error of a call, named by `what`, whose deadline has passed.
Status overdue(Communicator& communicator, const std::string& what, const Diagnosis& diagnosis);

}  // namespace rondo
