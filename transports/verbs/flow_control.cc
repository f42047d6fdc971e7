// SPDX-License-Identifier: Apache-2.0
#include "verbs/flow_control.h"

#include "base/error_kinds.h"

namespace rondo::verbs {

/// The counters are told modulo 2^16, which is more than can be on their way.
Status FlowControl::take(uint16_t given_back, WriteKind kind) {
  const auto returned = static_cast<uint16_t>(given_back - static_cast<uint16_t>(returned_));
  if (returned > sent() - returned_)
    return error(ErrorKind::MessageBroken, "the peer gave back {} messages, but only {} were on their way",
                 returned, sent() - returned_);
  if (kind == WriteKind::Credit && returned == 0)
    return error(ErrorKind::MessageBroken, "the peer sent an empty message that gives nothing back");
  const bool is_message = kind == WriteKind::Message;
  if (is_message && arrived_ - told_ >= max_messages_)
    return error(ErrorKind::MessageBroken, "the peer sent message {} before message {} was given back",
                 arrived_ + 1, told_ + 1);
  returned_ += returned;
  if (is_message) ++arrived_;
  return {};
}

Status FlowControl::resume(const Standing& peers) {
  const bool is_possible =
      returned_ <= peers.released && peers.released <= peers.arrived && peers.arrived <= sent();
  if (!is_possible)
    return error(ErrorKind::MessageBroken,
                 "the peer says that {} messages have arrived and {} were given back, of {} and {}",
                 peers.arrived, peers.released, sent(), returned_);
  returned_ = peers.released;
  return {};
}

}  // namespace rondo::verbs
