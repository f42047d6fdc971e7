// The driver: carries out the calls of a group, of any mix of communicators, on the thread that calls it. All
// of them make progress together; the collectives of one communicator run in their order. Every wait in here
// watches the communicator's health, its connections and its deadline, and when it lasts finds out why.
#pragma once

#include <span>

#include "comm/messages.h"

namespace rondo {

/// Runs the items to their ends; the first error, after all that could still be done was done. Calls finish()
/// where there was none.
Status drive(std::span<const Item> items);

/// The same for one call.
Status drive(Communicator& communicator, const Call& call);
/// Likewise, of one that Communicator::begin_again() has begun.
Status drive(Communicator& communicator, const PlainCall& call, Task* begun);
/// Likewise, of sends and receives on the caller's thread.
Status drive(Communicator& communicator, std::span<UserMessage> messages);

}  // namespace rondo
