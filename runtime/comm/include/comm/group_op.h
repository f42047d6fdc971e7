// SPDX-License-Identifier: Apache-2.0
// GroupOp: a call as a group keeps it until it is issued.
#pragma once

#include <functional>
#include <memory>
#include <variant>

#include "call/call.h"
#include "comm/communicator.h"
#include "comm/queue.h"

namespace rondo {

struct GroupOp {
  Communicator* communicator = nullptr;
  std::variant<Call, std::shared_ptr<SendRequest>, std::shared_ptr<RecvRequest>> what;
  Queue* queue = nullptr;        // the requested queue; null: the caller's thread
  std::function<void()> finish;  // called on success; may be empty
  CallPlace place = {};          // for sends and receives
};

}  // namespace rondo
