// SPDX-License-Identifier: Apache-2.0
// Tuning of a tcp connection's sockets for their network path.
#pragma once

#include <cstddef>

namespace rondo::tcp {

/// From this message size on, pacing costs more than it saves.
constexpr size_t kMinUnpaced = size_t{16} * 1024;

/// Disables pacing on a socket that stays on this host: the kernel sends as much as the peer has room for.
/// Never fails, as the socket works without it, only slower. Call it with the first long message: until then
/// the system's default, such as BBR, keeps few packets in flight, so that short messages are coalesced.
void unpace(int fd);

}  // namespace rondo::tcp
