// SPDX-License-Identifier: Apache-2.0
// The sim transport: any number of ranks in one process, with messages delayed by seeded amounts or lost
// (transports/sim.h). For tests; used only when selected by name.
#pragma once

#include "transports/transport.h"

namespace rondo {

bool sim_reaches(const Endpoint& a, const Endpoint& b);
Result<std::unique_ptr<Connection>> sim_connect(std::unique_ptr<Link> link, const ConnectionParams& params);

}  // namespace rondo
