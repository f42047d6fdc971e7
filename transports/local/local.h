// SPDX-License-Identifier: Apache-2.0
// The local transport: two ranks that are threads of one process. Messages are passed as addresses, so posted
// buffers are read in place.
#pragma once

#include "transports/transport.h"

namespace rondo {

bool local_reaches(const Endpoint& a, const Endpoint& b);
Result<std::unique_ptr<Connection>> local_connect(std::unique_ptr<Link> link, const ConnectionParams& params);

}  // namespace rondo
