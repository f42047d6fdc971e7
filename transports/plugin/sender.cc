// SPDX-License-Identifier: Apache-2.0
#include "plugin/sender.h"

#include <cassert>

#include "plugin/abi.h"

namespace rondo::plugin {

void PluginSender::commit(size_t bytes, const Signature& signature) {
  if (!failure_.ok()) return;
  assert(has_room() && bytes <= slots_->terms().params.slot_bytes);
  SlotHeader& header = *slots_->slot(committed_);
  header = {};
  header.ready = committed_ + 1;
  header.bytes = static_cast<uint32_t>(bytes);
  header.signature = signature;
  requests_[committed_ % count_] = {.bytes = sizeof header + bytes};
  ++committed_;
  post_waiting();
}

/// Requests end in the order in which they began, so the first that is not done ends the search.
void PluginSender::poll() {
  while (delivered_ != posted_ && finish_oldest()) continue;
  post_waiting();
}

/// A peer never posts more receives than it has slots beyond the messages that have come: others are
/// nonsense.
bool PluginSender::fill(uint32_t receives) {
  const auto missing = [&] { return receives - static_cast<uint32_t>(committed_); };
  while (missing() != 0 && missing() <= count_ && has_room()) commit(0, {});
  return missing() == 0 || missing() > count_;
}

bool PluginSender::finish_oldest() {
  if (!failure_.ok()) return false;
  bool is_done = false;
  int bytes = 0;
  failure_ = slots_->test(requests_[delivered_ % count_].handle, is_done, bytes);
  if (failure_.ok() && is_done) ++delivered_;
  return failure_.ok() && is_done;
}

bool PluginSender::post_next() {
  if (!failure_.ok() || posted_ - delivered_ == kMaxRequests) return false;
  SentRequest& request = requests_[posted_ % count_];
  failure_ = slots_->send(posted_, request.bytes, request.handle);
  if (!failure_.ok() || request.handle == nullptr) return false;
  ++posted_;
  return true;
}

}  // namespace rondo::plugin
