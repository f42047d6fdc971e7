// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain.h"

namespace rondo::plugin {

/// A direction for which the plugin reports an error is over; the other may go on.
void PluginDrain::advance_sender() {
  if (sender_ == nullptr) return;
  const auto farewell = socket_.farewell();
  const bool has_filled = !farewell || sender_->fill(farewell->receives);
  sender_->poll();
  const bool is_done = socket_.is_closed() && has_filled && sender_->flushed();
  if (is_done || !sender_->failure().ok()) sender_.reset();
}

void PluginDrain::advance_receiver() {
  if (receiver_ == nullptr) return;
  receiver_->drain();
  if (!receiver_->failure().ok() || (receiver_->is_drained() && socket_.is_closed())) receiver_.reset();
}

PluginDrain::Awaits PluginDrain::advance() {
  socket_.look();
  advance_sender();
  advance_receiver();
  if (sender_ == nullptr && receiver_ == nullptr) return Awaits::Nothing;
  if (!socket_.is_closed()) return Awaits::Peer;
  if (!deadline_) deadline_ = Deadline::in_ms(kPatience_ms);
  return deadline_->passed() ? Awaits::Never : Awaits::Plugin;
}

}  // namespace rondo::plugin
