// SPDX-License-Identifier: Apache-2.0
// Messages: sends and receives of host memory as their callers requested them, and their fast path: a short
// message is sent, and one that has arrived is received, at once and without allocating a request. The rest
// continue as GroupOps.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <variant>

#include "comm/communicator.h"
#include "comm/queue.h"

namespace rondo {

/// A call or message as a group or queue keeps it until it is issued.
struct GroupOp {
  Communicator* communicator = nullptr;
  std::variant<Call, std::shared_ptr<SendRequest>, std::shared_ptr<RecvRequest>> what;
  Queue* queue = nullptr;        // the requested queue; null: the caller's thread
  std::function<void()> finish;  // called on success; may be empty
  CallPlace place = {};          // for sends and receives
};

struct UserMessage {
  using Tell = void (*)(const RecvRequest& got, void* whom);

  Communicator* communicator = nullptr;
  std::variant<SendRequest, RecvRequest> request;
  Tell tell = nullptr;  // called when a receive is done; may be null
  void* whom = nullptr;

  bool is_done() const;
  int peer() const;
  void finish() const;
  /// The message as a GroupOp.
  GroupOp op(Queue* queue = nullptr, const CallPlace& place = {}) const;
};
static_assert(std::is_trivially_copyable_v<UserMessage>);

/// The messages of one communicator, as long as each can be done at once in its turn; fails at the first one
/// that cannot. Messages that are not done can still become GroupOps.
class MessagesAtOnce final : public Task {
 public:
  MessagesAtOnce(PointToPoint& engine, std::span<UserMessage> messages)
      : engine_(engine), messages_(messages) {}

  Progress advance() override;
  Status status() const override { return {}; }
  int blocked_on() const override { return -1; }
  /// A peer that runs on another CPU usually answers sooner than this thread would return from a yield.
  bool may_block_others(bool oversubscribed) override;
  /// Tells the peers that this rank yields, so that they do not spin for it.
  void let_others_run() override;

 private:
  void set_yielding(bool is_yielding);
  template <typename Request>
  Progress advance_all();

  PointToPoint& engine_;
  std::span<UserMessage> messages_;
};

}  // namespace rondo
