// Group: collects the calls between rondo_group_start() and rondo_group_end() of a thread, and issues them:
// on the caller's thread, or through the queues that they name.
#pragma once

#include "comm/driver.h"

namespace rondo {

/// Opens a group on this thread, or one more level of it.
void group_start();
/// Issues what was collected when the outermost level closes, or returns the first refusal and issues
/// nothing; InvalidUsage without a group.
Status group_end();
/// A call was refused; one that this thread's group would have collected, if it has one.
void note_refusal(Status why);

/// Closes all levels and forgets what was collected; InvalidUsage without a group.
Status group_cancel();

/// Issues one item, or adds it to this thread's group.
Status submit(Item item);
/// The same, on the caller's thread.
Status submit(const UserMessage& message);
Status submit(Communicator& communicator, Call&& call, Queue* queue);
/// Issues a call that Communicator::begin_again() can begin now, on the caller's thread. Nothing: it cannot.
std::optional<Status> submit_again(Communicator& communicator, const PlainCall& call);

/// Whether this thread's group has calls of the communicator that are still to be issued.
bool group_has(const Communicator& communicator);
/// InvalidUsage within a group: for what must be over when it returns.
Status refuse_in_group(const char* what);

}  // namespace rondo
