// SPDX-License-Identifier: Apache-2.0
// MessagesAtOnce: the fast path of sends and receives of host memory: a short message is sent, and one that
// has arrived is received, at once and without allocating a request. Used by the thread that makes the call.
#pragma once

#include <span>

#include "comm/group.h"
#include "exec/task.h"

namespace rondo {

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
