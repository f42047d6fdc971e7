// SPDX-License-Identifier: Apache-2.0
#include "verbs/flow_control.h"

namespace rondo::verbs {

/// The counters are told modulo 2^16, which is more than there are slots.
Status FlowControl::take(uint16_t given_back, WriteKind kind) {
  const auto returned = static_cast<uint16_t>(given_back - static_cast<uint16_t>(returned_));
  if (returned > sent_ - returned_)
    return error(Code::RemoteError, "the peer gave back {} slots, but only {} were in use", returned,
                 sent_ - returned_);
  if (kind == WriteKind::Credit && returned == 0)
    return error(Code::RemoteError, "the peer sent an empty message that gives nothing back");
  const bool is_message = kind == WriteKind::Message;
  if (is_message && arrived_ - told_ >= slots_)
    return error(Code::RemoteError, "the peer sent message {} without a free slot", arrived_ + 1);
  returned_ += returned;
  if (is_message) ++arrived_;
  return {};
}

Status FlowControl::resume(const Standing& peers) {
  const bool is_possible =
      returned_ <= peers.released && peers.released <= peers.arrived && peers.arrived <= sent_;
  if (!is_possible)
    return error(Code::RemoteError,
                 "the peer says that {} messages have arrived and {} slots were given back, of {} and {}",
                 peers.arrived, peers.released, sent_, returned_);
  returned_ = peers.released;
  return {};
}

}  // namespace rondo::verbs
