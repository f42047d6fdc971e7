// SPDX-License-Identifier: Apache-2.0
// The shm transport: two ranks on one host, in one process or in two. The dialling end makes a Segment and
// passes it over a Unix socket; afterwards only exports and reads of long messages need system calls.
#pragma once

#include "transports/transport.h"

namespace rondo {

bool shm_reaches(const Endpoint& a, const Endpoint& b);
Result<std::unique_ptr<Connection>> shm_connect(std::unique_ptr<Link> link, const ConnectionParams& params);

}  // namespace rondo
