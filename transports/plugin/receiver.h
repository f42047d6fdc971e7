// SPDX-License-Identifier: Apache-2.0
// PluginReceiver: the incoming direction of a connection. Each free slot is posted for a receive of the
// plugin, as far as it takes them; a slot is read after the receive is done. What arrives is the peer's, and
// checked. Used by the connection's thread.
#pragma once

#include <optional>
#include <vector>

#include "plugin/slots.h"
#include "transports/connection.h"

namespace rondo::plugin {

class PluginReceiver {
 public:
  explicit PluginReceiver(std::unique_ptr<PluginSlots> slots)
      : slots_(std::move(slots)), count_(slots_->terms().params.slots), requests_(count_) {}

  /// The oldest message that has arrived, if any.
  const Arrival* peek() {
    if (!arrival_ && has_arrived()) take_arrival();
    return arrival_ ? &*arrival_ : nullptr;
  }
  void release();
  /// Takes in what has arrived, and posts free slots.
  void poll();

  /// Takes in what has arrived, and posts nothing any more.
  void drain() {
    while (arrived_ != posted_ && finish_oldest()) continue;
  }
  /// Whether no receive is outstanding.
  bool is_drained() const { return arrived_ == posted_; }

  /// Receives that were posted, and messages that have arrived, in all.
  uint64_t posted() const { return posted_; }
  uint64_t arrived() const { return arrived_; }
  /// Whether one has arrived that peek() can take or has taken.
  bool has_arrived() const { return arrived_ != released_ && !is_broken_; }
  /// Whether something has that is no message.
  bool is_broken() const { return is_broken_; }
  /// Why nothing more will arrive.
  const Status& failure() const { return failure_; }

 private:
  struct PostedReceive {
    void* handle = nullptr;
    int bytes = 0;  // that have arrived
  };
  bool finish_oldest();
  bool post_next();
  void take_arrival();
  void break_with(const Status& failure) {
    failure_ = failure;
    is_broken_ = true;
  }

  const std::unique_ptr<PluginSlots> slots_;
  const uint64_t count_;
  std::vector<PostedReceive> requests_;  // by slot
  uint64_t posted_ = 0;                  // messages
  uint64_t arrived_ = 0;                 // of them
  uint64_t released_ = 0;                // of them
  Signature signature_;                  // of arrival_: the peer can no longer change it
  std::optional<Arrival> arrival_;
  Status failure_;
  bool is_broken_ = false;
};

}  // namespace rondo::plugin
