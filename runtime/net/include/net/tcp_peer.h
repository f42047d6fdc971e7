// SPDX-License-Identifier: Apache-2.0
// Which user of this host is at the other end of a TCP connection, as the kernel knows it. Any thread; it
// never waits.
#pragma once

#include <cstddef>
#include <string_view>

#include "base/status.h"
#include "net/socket.h"

namespace rondo {

/// An error if the other end is on another host or in another network namespace, or the kernel does not tell.
Result<unsigned> tcp_peer_user(int fd);

/// The same by the text of /proc/net/tcp or /proc/net/tcp6, for kernels that do not answer about one socket.
Result<unsigned> user_in_listing(std::string_view listing, const Address& peer, const Address& own);

}  // namespace rondo
