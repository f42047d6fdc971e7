// The driver: carries out the calls of a group, of any mix of communicators, on the thread that calls it. All
// of them make progress together; the collectives of one communicator run in their order. Every wait in here
// watches the communicator's health, its connections and its deadline, and when it lasts finds out why.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <variant>

#include "comm/call.h"
#include "comm/communicator.h"
#include "comm/queue.h"

namespace rondo {

struct Item {
  Communicator* communicator = nullptr;
  std::variant<Call, std::shared_ptr<SendRequest>, std::shared_ptr<RecvRequest>> what;
  Queue* queue = nullptr;        // where it was asked for; null: on the caller's thread
  std::function<void()> finish;  // after success, may be empty
  CallPlace place = {};          // of a send or receive
};

/// Runs the items to their ends; the first error, after all that could still be done was done. Calls finish()
/// where there was none.
Status drive(std::span<const Item> items);

/// The same for one call.
Status drive(Communicator& communicator, const Call& call);
/// Likewise, of one that Communicator::begin_again() has begun.
Status drive(Communicator& communicator, const PlainCall& call, Task* begun);

}  // namespace rondo
