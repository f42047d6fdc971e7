// SPDX-License-Identifier: Apache-2.0
// Group: collects a thread's calls between rondo_group_start() and rondo_group_end(), and issues them on the
// caller's thread or through the queues that they name.
#pragma once

#include "comm/user_messages.h"

namespace rondo {

/// Opens a group on this thread, or a nested level of it.
void group_start();
/// Closing the outermost level issues the collected calls or, if a call was refused, returns the first
/// refusal and issues nothing. InvalidUsage without a group.
Status group_end();
/// Records that a call was refused, if this thread has a group.
void note_refusal(Status why);

/// Closes all levels and discards the collected calls; InvalidUsage without a group.
Status group_cancel();

/// Issues one op, or adds it to this thread's group.
Status submit(GroupOp op);
/// The same, on the caller's thread.
Status submit(const UserMessage& message);
Status submit(Communicator& communicator, const CallRequest& request, Queue* queue);

/// Whether this thread's group has collected calls of the communicator.
bool group_has(const Communicator& communicator);
/// InvalidUsage within a group: for functions that must complete before they return.
Status refuse_in_group(const char* what);

}  // namespace rondo
