// Diagnosis: finds out why a wait lasts, by asking the rank that is waited for, then the one which that rank
// waits for, and so on; and all others where that leads nowhere: a rank may wait for several, and names one.
// Any thread.
#pragma once

#include "comm/communicator.h"

namespace rondo {

struct Diagnosis {
  Status mismatch;    // not Ok: ranks disagree about a call; no use in waiting on
  Status departed;    // not Ok: a rank that is waited for is not there any more
  std::string cause;  // a sentence about whoever is at the end of the chain
  bool late = false;  // who has not come to the call
  bool open = false;  // who itself waits for one that was asked already, or cannot say for whom
};

/// `blocked_on`: the rank that this rank waits for; -1 where it is not known, and all are asked.
Diagnosis diagnose(Communicator& communicator, int blocked_on);

/// The error of a call, named by `what`, whose deadline has passed.
Status overdue(Communicator& communicator, const std::string& what, const Diagnosis& diagnosis);

}  // namespace rondo
