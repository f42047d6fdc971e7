// SPDX-License-Identifier: Apache-2.0
#include "plugin/receiver.h"

#include <atomic>
#include <cassert>

#include "base/error_kinds.h"
#include "plugin/abi.h"

namespace rondo::plugin {

void PluginReceiver::poll() {
  drain();
  while (posted_ - released_ != count_ && post_next()) continue;
}

/// Requests end in the order in which they began.
bool PluginReceiver::finish_oldest() {
  if (!failure_.ok()) return false;
  PostedReceive& request = requests_[arrived_ % count_];
  bool is_done = false;
  failure_ = slots_->test(request.handle, is_done, request.bytes);
  if (failure_.ok() && is_done) ++arrived_;
  return failure_.ok() && is_done;
}

bool PluginReceiver::post_next() {
  if (!failure_.ok() || posted_ - arrived_ == kMaxRequests) return false;
  PostedReceive& request = requests_[posted_ % count_];
  request = {};
  failure_ = slots_->receive(posted_, request.handle);
  if (!failure_.ok() || request.handle == nullptr) return false;
  ++posted_;
  return true;
}

/// The length is what the plugin says; the header is the peer's.
void PluginReceiver::take_arrival() {
  const int length = requests_[released_ % count_].bytes;
  if (length < static_cast<int>(sizeof(SlotHeader)) || std::cmp_greater(length, slots_->max_message_bytes()))
    return break_with(error(ErrorKind::MessageBroken, "rank {} sent {} bytes, which is no message",
                            slots_->terms().peer, length));
  const SlotHeader header = *slots_->slot(released_);
  std::atomic_signal_fence(std::memory_order_seq_cst);  // read once: a hostile peer may go on writing
  if (header.ready != released_ + 1)
    return break_with(error(ErrorKind::MessageBroken, "the slot of message {} from rank {} holds message {}",
                            released_ + 1, slots_->terms().peer, header.ready));
  if (std::cmp_not_equal(sizeof header + header.bytes, length))
    return break_with(error(ErrorKind::MessageBroken,
                            "the header of message {} from rank {} says {} bytes; {} came", released_ + 1,
                            slots_->terms().peer, header.bytes, static_cast<size_t>(length) - sizeof header));
  signature_ = header.signature;
  const auto* const data = reinterpret_cast<const std::byte*>(slots_->slot(released_) + 1);
  arrival_ = Arrival{data, header.bytes, &signature_};
}

void PluginReceiver::release() {
  assert(arrival_);
  arrival_.reset();
  ++released_;
  poll();
}

}  // namespace rondo::plugin
