// SPDX-License-Identifier: Apache-2.0
#include "tcp/tuning.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cstring>
#include <string_view>

namespace rondo::tcp {
namespace {

/// Whether both ends have the same address, in which case nothing leaves the host.
bool stays_on_host(int fd) {
  sockaddr_storage own{};
  sockaddr_storage peers{};
  socklen_t own_length = sizeof own;
  socklen_t peers_length = sizeof peers;
  if (::getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_length) != 0) return false;
  if (::getpeername(fd, reinterpret_cast<sockaddr*>(&peers), &peers_length) != 0) return false;
  if (own.ss_family != peers.ss_family) return false;
  if (own.ss_family == AF_INET)
    return reinterpret_cast<const sockaddr_in&>(own).sin_addr.s_addr ==
           reinterpret_cast<const sockaddr_in&>(peers).sin_addr.s_addr;
  return own.ss_family == AF_INET6 &&
         std::memcmp(&reinterpret_cast<const sockaddr_in6&>(own).sin6_addr,
                     &reinterpret_cast<const sockaddr_in6&>(peers).sin6_addr, sizeof(in6_addr)) == 0;
}

}  // namespace

void unpace(int fd) {
  // Within a host no packet is lost or queued, and a congestion control that paces, as BBR does, only halves
  // the rate. Reno does not pace, and unprivileged processes may select it.
  constexpr std::string_view kUnpaced = "reno";
  if (stays_on_host(fd)) ::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, kUnpaced.data(), kUnpaced.size());
}

}  // namespace rondo::tcp
