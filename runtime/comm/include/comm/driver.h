// The driver: carries out the calls of a group, of any mix of communicators, on the thread that calls it. All
// of them make progress together; the collectives of one communicator run in their order. Every wait in here
// watches the communicator's health, its connections and its deadline, and when it lasts finds out why.
#pragma once

#include <variant>
#include <vector>

#include "comm/call.h"
#include "comm/communicator.h"

namespace rondo {

struct Item {
  Communicator* communicator = nullptr;
  std::variant<Call, std::shared_ptr<SendRequest>, std::shared_ptr<RecvRequest>> what;
};

/// Runs the items to their ends; the first error, after all that could still be done was done.
Status drive(std::vector<Item> items);

}  // namespace rondo
