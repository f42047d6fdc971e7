// How tests disturb the sim transport: lost ranks and slow links of one session. Any thread, at any time,
// before or after the connections are made.
#pragma once

#include <cstdint>

namespace rondo::sim {

/// From now on what this rank sends, or what is sent to it, never arrives, as if its host had gone: the slots
/// stay taken, so senders soon have none. What was sent before still arrives.
void drop_rank(uint64_t session, int rank);

/// From now on messages between two ranks pass one after the other at this rate, each direction by itself and
/// all connections of the two together; 0 makes the link as fast as any again.
void slow_link(uint64_t session, int a, int b, uint64_t bytes_per_s);

/// Takes back all that was set for a session; what vanished stays vanished.
void heal(uint64_t session);

}  // namespace rondo::sim
