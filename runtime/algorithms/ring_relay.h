// SPDX-License-Identifier: Apache-2.0
// Relays messages around a ring without filling all its slots. Pure function: any thread.
#pragma once

#include "schedule/schedule.h"

namespace rondo {

/// Adds a relay around a ring: one fused Step, except at rank 0, where it is two, with the value kept at
/// `hold` in between (which is where the relay stores it, if it does).
///
/// Every rank of a ring starts with a message of its own. If each connection had a single slot, all slots
/// would then be full and no fused Step could run, since it receives and sends at once. Rank 0 therefore
/// takes a message out of the ring first, so that the others always find a free slot.
void add_ring_relay(Schedule& schedule, const Move& relay, Ref hold);

}  // namespace rondo
