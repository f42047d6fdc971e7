// Passing messages around a ring without filling it. Pure function: any thread.
#pragma once

#include "schedule/schedule.h"

namespace rondo {

/// Adds a relay around a ring: one fused Step, except at rank 0, where it is two, with the value kept at
/// `hold` between them (where the relay stores it, if it does).
///
/// Every rank of a ring starts with a message of its own. If each connection had but one slot, all slots
/// would then be full and no fused Step could run, since it takes its arrival and sends at once. Rank 0 takes
/// a message out of the ring first, and so the others always find room.
void add_ring_relay(Schedule& schedule, const Move& relay, Ref hold);

}  // namespace rondo
