// Item: a call as a group keeps it until it is issued.
#pragma once

#include <functional>
#include <memory>
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

}  // namespace rondo
