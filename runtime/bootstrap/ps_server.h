// SPDX-License-Identifier: Apache-2.0
// What rondo-ps learns of this process: a TextServer that gives the latest calls of its communicators, as
// the flight file has them. Its abstract Unix name, rondo-ps-UID-PID-RANDOM, is in /proc/net/unix, where
// rondo-ps finds it. Any thread but the service thread.
#pragma once

#include <memory>

#include "net/text_server.h"

namespace rondo {

/// Null if there can be no such socket, which the log says at info.
std::unique_ptr<TextServer> start_ps_server(EventLoop& event_loop);

}  // namespace rondo
