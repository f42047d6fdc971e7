// Messages: sends and receives of host memory as their callers stated them, and what can be done with them at
// once: a short message goes, and one that has come is taken, without a request that somebody would have to
// keep. What cannot goes on as an Item.
#pragma once

#include <span>
#include <type_traits>
#include <variant>

#include "comm/item.h"

namespace rondo {

struct UserMessage {
  using Tell = void (*)(const RecvRequest& got, void* whom);

  Communicator* communicator = nullptr;
  std::variant<SendRequest, RecvRequest> request;
  Tell tell = nullptr;  // called with a receive when it is done; may be null
  void* whom = nullptr;

  bool is_done() const;
  int peer() const;
  void finish() const;
  /// What is left of it.
  Item item(Queue* queue = nullptr, const CallPlace& place = {}) const;
};
static_assert(std::is_trivially_copyable_v<UserMessage>);

/// Those of one communicator, for as long as each can be done at once when its turn comes; it fails where one
/// cannot. Those that it has not done can still be made Items.
class MessagesAtOnce final : public Task {
 public:
  MessagesAtOnce(PointToPoint& engine, std::span<UserMessage> messages)
      : engine_(engine), messages_(messages) {}

  Progress advance() override;
  Status status() const override { return {}; }
  int blocked_on() const override { return -1; }
  /// A peer that runs on another CPU most often answers sooner than another rank is let run and comes back.
  bool may_block_others(bool crowded) override;
  /// Those who wait for this rank meanwhile know.
  void let_others_run() override;

 private:
  void say_away(bool is_away);
  template <typename Request>
  Progress advance_all();

  PointToPoint& engine_;
  std::span<UserMessage> messages_;
};

}  // namespace rondo
