// SPDX-License-Identifier: Apache-2.0
// Sockets: the wrappers through which start-up and the control plane make all their socket system calls.
// Every descriptor is close-on-exec and non-blocking; the blocking helpers wait with poll() up to a deadline.
// Any thread.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/fd.h"
#include "base/ip_address.h"
#include "base/status.h"

namespace rondo {

/// The address of a listener: an IP address and port, or a name in the abstract Unix namespace, which belongs
/// to the network namespace, leaves nothing in the file system and vanishes with its socket.
struct Address {
  sockaddr_storage storage{};
  socklen_t length = 0;

  static Address tcp(const IpAddress& ip, uint16_t port);
  static Address abstract_unix(const std::string& name);
  /// All zero for a Unix address.
  IpAddress ip() const;
  /// Of an abstract Unix address; empty for any other.
  std::string abstract_name() const;
  std::string text() const;
};

/// The addresses of a host name or number; an error that names it if there are none.
Result<std::vector<IpAddress>> resolve(const std::string& host);

inline constexpr int kMaxBacklog = 4096;

/// A listening TCP socket on all addresses, IPv6 and IPv4; port 0: any. Sets `port`.
Result<Fd> listen_tcp(uint16_t& port);
/// `backlog`: how many connections may wait to be accepted.
Result<Fd> listen_unix(const std::string& name, int backlog = kMaxBacklog);
/// A pending connection and its source address, or an invalid Fd if there is none.
Fd accept_pending(const Fd& listener, Address& from);

/// Polled during a wait: Ok to continue, or the reason to end it early.
using Interrupt = std::function<Status()>;
/// The longest wait between two polls of an Interrupt.
inline constexpr int kInterruptEvery_ms = 20;

/// A socket for that kind of address.
Result<Fd> socket_for(const Address& address);
/// RemoteError if nothing listens there, Timeout at the deadline.
Status connect_to(const Fd& fd, const Address& address, const Deadline& deadline, const Interrupt& interrupt);
/// The same without waiting: EPOLLOUT tells that the connection is made or has failed, and connect_result()
/// which of them.
Status begin_connect(const Fd& fd, const Address& address);
Status connect_result(const Fd& fd, const Address& address);
Status send_all(const Fd& fd, std::span<const std::byte> bytes, const Deadline& deadline,
                const Interrupt& interrupt);
Status receive_all(const Fd& fd, std::span<std::byte> bytes, const Deadline& deadline,
                   const Interrupt& interrupt);

/// The process at the other end of a Unix socket and its user, as reported by the kernel.
struct PeerCredentials {
  int pid = 0;
  unsigned uid = 0;
};
Result<PeerCredentials> peer_credentials(int fd);

/// Ends a TCP connection whose other end has not answered for `unreachable_s`, even if nothing is sent on it.
void watch_for_lost_host(const Fd& fd, int64_t unreachable_s);

}  // namespace rondo
