// SPDX-License-Identifier: Apache-2.0
// The tcp transport: any two ranks that can reach one another, over several sockets. All sockets are
// non-blocking, and bytes move only inside the connection's calls.
#pragma once

#include "transports/transport.h"

namespace rondo {

bool tcp_reaches(const Endpoint& a, const Endpoint& b);
Result<std::unique_ptr<Connection>> tcp_connect(std::unique_ptr<Link> link, const ConnectionParams& params);

}  // namespace rondo
