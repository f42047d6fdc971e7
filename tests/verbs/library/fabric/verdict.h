// SPDX-License-Identifier: Apache-2.0
// What becomes of an attempt to send a part of a message.
#pragma once

#include "fabric.h"

namespace rondo::fabric {

struct Verdict {
  enum Kind {
    Ok,
    Lost,    // no answer comes
    Rnr,     // the responder has no receive
    Local,   // refused by the own device: status
    Remote,  // refused by the responder: status, and event there
  };
  Kind kind = Ok;
  ibv_wc_status status = IBV_WC_SUCCESS;
  ibv_event_type event = IBV_EVENT_QP_REQ_ERR;
  ibv_wc_status receive_status = IBV_WC_SUCCESS;  // of the receive that failed at the responder, if any
  QueuePair* peer = nullptr;                      // with Ok, Rnr and Remote
};

/// Judges the message; is_first: it is the oldest one of its queue pair.
Verdict judge(Fabric& fabric, QueuePair& pair, const Message& message, bool is_first);

/// Whether the message at this index may land parts before those in front of it are complete.
bool may_overtake(Fabric& fabric, QueuePair& pair, size_t index);

uint32_t packets(const QueuePair& pair, const Message& message);
uint32_t waiting_receives(const QueuePair& pair);

}  // namespace rondo::fabric
