// SPDX-License-Identifier: Apache-2.0
// Fault injection for the sim transport: lost ranks and slow links of one session. Callable from any thread,
// at any time, before or after the connections are made.
#pragma once

#include <cstdint>

namespace rondo::sim {

/// Drops all later messages from and to this rank, as if its host had died: their slots are never released,
/// so senders soon run out. Messages sent earlier still arrive.
void drop_rank(uint64_t session, int rank);

/// Limits the link between two ranks to this rate, for each direction separately and shared by all of their
/// connections; 0 removes the limit.
void slow_link(uint64_t session, int a, int b, uint64_t bytes_per_s);

/// Removes all faults of a session; lost messages stay lost.
void heal(uint64_t session);

}  // namespace rondo::sim
