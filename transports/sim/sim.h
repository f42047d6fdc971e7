// The sim transport: any number of ranks in one process, whose messages arrive late by seeded amounts, or not
// at all (transports/sim.h). For tests; only used when asked for by name.
#pragma once

#include "transports/transport.h"

namespace rondo {

bool sim_reaches(const Endpoint& a, const Endpoint& b);
Result<std::unique_ptr<Connection>> sim_connect(std::unique_ptr<Link> link, const ConnectionParams& params);

}  // namespace rondo
