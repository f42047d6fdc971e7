// SPDX-License-Identifier: Apache-2.0
#include "ring_relay.h"

namespace rondo {

void add_ring_relay(Schedule& schedule, const Move& relay, Ref hold) {
  if (schedule.rank != 0) {
    schedule.add(relay);
    return;
  }
  Move take = relay;
  take.dst = hold;
  take.send.clear();
  schedule.add(take);
  schedule.add({.src = hold, .send = relay.send, .count = relay.count});
}

}  // namespace rondo
