// SPDX-License-Identifier: Apache-2.0
// PluginSender: the outgoing direction of a connection. A message is one request of the plugin, which takes
// its SlotHeader and its bytes from the slot; the slot is filled again once the request is done. There are no
// other credits: the plugin holds back what the peer has posted no receive for. Used by the connection's
// thread.
#pragma once

#include <vector>

#include "plugin/slots.h"

namespace rondo::plugin {

class PluginSender {
 public:
  explicit PluginSender(std::unique_ptr<PluginSlots> slots)
      : slots_(std::move(slots)), count_(slots_->terms().params.slots), requests_(count_) {}

  /// A slot for the next message; null if none is free.
  std::byte* acquire() {
    if (!has_room()) return nullptr;
    return reinterpret_cast<std::byte*>(slots_->slot(committed_) + 1);
  }
  void commit(size_t bytes, const Signature& signature);
  /// Passes messages to the plugin, and frees the slots of those that it is done with.
  void poll();
  /// Sends messages that say nothing until there are as many as the peer, which has closed its end, has
  /// posted receives (modulo 2^32). Whether there are.
  bool fill(uint32_t receives);
  /// Whether the plugin is done with all messages.
  bool flushed() const { return delivered_ == committed_; }

  bool is_idle() const { return flushed() && failure_.ok(); }

  uint64_t delivered() const { return delivered_; }
  const Status& failure() const { return failure_; }

 private:
  struct SentRequest {
    size_t bytes = 0;
    void* handle = nullptr;
  };
  bool has_room() const { return failure_.ok() && committed_ - delivered_ < count_; }
  bool finish_oldest();
  bool post_next();
  void post_waiting() {
    while (posted_ != committed_ && post_next()) continue;
  }

  const std::unique_ptr<PluginSlots> slots_;
  const uint64_t count_;
  std::vector<SentRequest> requests_;  // by slot
  uint64_t committed_ = 0;             // messages
  uint64_t posted_ = 0;                // of them, given to the plugin
  uint64_t delivered_ = 0;             // of them, done
  Status failure_;
};

}  // namespace rondo::plugin
