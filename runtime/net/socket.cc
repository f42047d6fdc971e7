// SPDX-License-Identifier: Apache-2.0
#include "net/socket.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/error_kinds.h"

namespace rondo {
namespace {

void set_option(const Fd& fd, int level, int option, int value) {
  ::setsockopt(fd.get(), level, option, &value, sizeof value);
}

IpAddress mapped(const in_addr& ipv4) {
  IpAddress ip{};
  ip[10] = ip[11] = 0xff;
  std::memcpy(ip.data() + 12, &ipv4, 4);
  return ip;
}

/// Waits until the socket is ready for `events`.
Status wait_ready(const Fd& fd, short events, const Deadline& deadline, const Interrupt& interrupt) {
  for (;;) {
    pollfd poll{fd.get(), events, 0};
    const int ready = ::poll(&poll, 1, std::min(deadline.left_ms(), kInterruptEvery_ms));
    if (ready > 0) return {};
    if (ready < 0 && errno != EINTR) return system_error("poll", errno);
    if (deadline.passed()) return Status(Code::Timeout, "it did not answer");
    if (interrupt) RONDO_TRY(interrupt());
  }
}

Status connect_failure(const Address& address, int error_number) {
  const bool gone = error_number == ECONNREFUSED || error_number == ENOENT || error_number == ECONNRESET;
  return error(ErrorKind::CannotConnect, "cannot connect to {}: {}", address.text(),
               std::strerror(error_number))
      .as(gone ? Code::RemoteError : Code::SystemError);
}

}  // namespace

Address Address::tcp(const IpAddress& ip, uint16_t port) {
  Address address;
  if (is_mapped_ipv4(ip)) {  // plain IPv4, so that hosts without IPv6 work
    auto* in = reinterpret_cast<sockaddr_in*>(&address.storage);
    in->sin_family = AF_INET;
    in->sin_port = htons(port);
    std::memcpy(&in->sin_addr, ip.data() + 12, 4);
    address.length = sizeof *in;
  } else {
    auto* in = reinterpret_cast<sockaddr_in6*>(&address.storage);
    in->sin6_family = AF_INET6;
    in->sin6_port = htons(port);
    std::memcpy(&in->sin6_addr, ip.data(), 16);
    address.length = sizeof *in;
  }
  return address;
}

Address Address::abstract_unix(const std::string& name) {
  Address address;
  auto* un = reinterpret_cast<sockaddr_un*>(&address.storage);
  un->sun_family = AF_UNIX;
  const size_t length = std::min(name.size(), sizeof un->sun_path - 1);
  std::memcpy(un->sun_path + 1, name.data(), length);  // the leading 0 makes it abstract
  address.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
  return address;
}

IpAddress Address::ip() const {
  IpAddress ip{};
  if (storage.ss_family == AF_INET) ip = mapped(reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr);
  if (storage.ss_family == AF_INET6)
    std::memcpy(ip.data(), &reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr, ip.size());
  return ip;
}

std::string Address::abstract_name() const {
  constexpr size_t kNameAt = offsetof(sockaddr_un, sun_path) + 1;  // after the 0
  const auto* un = reinterpret_cast<const sockaddr_un*>(&storage);
  if (storage.ss_family != AF_UNIX || length <= kNameAt || un->sun_path[0] != '\0') return {};
  return {un->sun_path + 1, length - kNameAt};
}

std::string Address::text() const {
  if (storage.ss_family == AF_UNIX)
    return fmt::format("Unix socket @{}", reinterpret_cast<const sockaddr_un*>(&storage)->sun_path + 1);
  char host[NI_MAXHOST] = "?";
  char port[NI_MAXSERV] = "?";
  ::getnameinfo(reinterpret_cast<const sockaddr*>(&storage), length, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
  return fmt::format(storage.ss_family == AF_INET6 ? fmt::runtime("[{}]:{}") : fmt::runtime("{}:{}"), host,
                     port);
}

Result<std::vector<IpAddress>> resolve(const std::string& host) {
  if (host == "localhost") return std::vector{kLoopback};  // a bare container may have no /etc/hosts
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failure = ::getaddrinfo(host.c_str(), nullptr, &hints, &found); failure != 0)
    return error(ErrorKind::HostUnresolved, "host '{}' cannot be resolved: {}", host,
                 ::gai_strerror(failure));
  std::vector<IpAddress> addresses;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_family == AF_INET) {
      addresses.push_back(mapped(reinterpret_cast<const sockaddr_in*>(one->ai_addr)->sin_addr));
    } else if (one->ai_family == AF_INET6) {
      IpAddress ip;
      std::memcpy(ip.data(), &reinterpret_cast<const sockaddr_in6*>(one->ai_addr)->sin6_addr, 16);
      addresses.push_back(ip);
    }
  }
  ::freeaddrinfo(found);
  return addresses;
}

Result<Fd> listen_tcp(uint16_t& port) {
  for (int family : {AF_INET6, AF_INET}) {
    Fd fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) continue;  // no IPv6 here
    set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (family == AF_INET6) set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    const IpAddress any = family == AF_INET6 ? IpAddress{} : mapped(in_addr{INADDR_ANY});
    Address address = Address::tcp(any, port);
    if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address.storage), address.length) != 0 ||
        ::listen(fd.get(), kMaxBacklog) != 0) {
      if (errno == EADDRNOTAVAIL || errno == EAFNOSUPPORT) continue;
      return system_error(fmt::format("cannot listen on TCP port {}", port), errno, ErrorKind::CannotListen);
    }
    ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address.storage), &address.length);
    port = ntohs(reinterpret_cast<sockaddr_in*>(&address.storage)->sin_port);  // the same offset for IPv6
    return fd;
  }
  return system_error("cannot make a TCP socket", errno);
}

Result<Fd> listen_unix(const std::string& name, int backlog) {
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return system_error("cannot make a Unix socket", errno);
  const Address address = Address::abstract_unix(name);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0 ||
      ::listen(fd.get(), backlog) != 0)
    return system_error("cannot listen on " + address.text(), errno, ErrorKind::CannotListen);
  return fd;
}

Fd accept_pending(const Fd& listener, Address& from) {
  from.length = sizeof from.storage;
  Fd fd(::accept4(listener.get(), reinterpret_cast<sockaddr*>(&from.storage), &from.length,
                  SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (fd.valid()) set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);  // refused by Unix sockets, which need none
  return fd;
}

Result<Fd> socket_for(const Address& address) {
  Fd fd(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd.valid()) return system_error("cannot make a socket", errno);
  set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  return fd;
}

Status connect_to(const Fd& fd, const Address& address, const Deadline& deadline,
                  const Interrupt& interrupt) {
  const auto* raw = reinterpret_cast<const sockaddr*>(&address.storage);
  while (::connect(fd.get(), raw, address.length) != 0) {
    if (errno == EINTR) continue;
    // A Unix listener's backlog is full, or all of this host's ports to that address are in use; neither can
    // be polled for. (For an IPv6 address EADDRNOTAVAIL can also mean that this host has no IPv6 address.)
    if (errno == EAGAIN || (errno == EADDRNOTAVAIL && raw->sa_family == AF_INET)) {
      if (deadline.passed()) return error(Code::Timeout, "{} did not answer", address.text());
      if (interrupt) RONDO_TRY(interrupt());
      ::poll(nullptr, 0, 1);
      continue;
    }
    if (errno != EINPROGRESS) return connect_failure(address, errno);
    RONDO_TRY(wait_ready(fd, POLLOUT, deadline, interrupt).within(address.text()));
    return connect_result(fd, address);
  }
  return {};
}

Status begin_connect(const Fd& fd, const Address& address) {
  const auto* raw = reinterpret_cast<const sockaddr*>(&address.storage);
  if (::connect(fd.get(), raw, address.length) == 0 || errno == EINPROGRESS || errno == EINTR) return {};
  return connect_failure(address, errno);
}

Status connect_result(const Fd& fd, const Address& address) {
  int failure = 0;
  socklen_t length = sizeof failure;
  ::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failure, &length);
  return failure == 0 ? Status() : connect_failure(address, failure);
}

Status send_all(const Fd& fd, std::span<const std::byte> bytes, const Deadline& deadline,
                const Interrupt& interrupt) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0) {
      bytes = bytes.subspan(static_cast<size_t>(sent));
    } else if (errno == EAGAIN) {
      RONDO_TRY(wait_ready(fd, POLLOUT, deadline, interrupt));
    } else if (errno != EINTR) {
      return error(ErrorKind::ConnectionBroken, "the connection broke: {}", std::strerror(errno));
    }
  }
  return {};
}

Status receive_all(const Fd& fd, std::span<std::byte> bytes, const Deadline& deadline,
                   const Interrupt& interrupt) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(fd.get(), bytes.data(), bytes.size(), 0);
    if (got > 0) {
      bytes = bytes.subspan(static_cast<size_t>(got));
    } else if (got == 0) {
      return Status(ErrorKind::ConnectionBroken, "the other end closed the connection");
    } else if (errno == EAGAIN) {
      RONDO_TRY(wait_ready(fd, POLLIN, deadline, interrupt));
    } else if (errno != EINTR) {
      return error(ErrorKind::ConnectionBroken, "the connection broke: {}", std::strerror(errno));
    }
  }
  return {};
}

Result<PeerCredentials> peer_credentials(int fd) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0)
    return system_error("cannot read the peer's credentials", errno);
  return PeerCredentials{credentials.pid, credentials.uid};
}

/// The kernel checks TCP_USER_TIMEOUT when it sends a probe, so probes are frequent; their number does not
/// matter.
void watch_for_lost_host(const Fd& fd, int64_t unreachable_s) {
  constexpr int kIdle_s = 1;
  constexpr int kInterval_s = 1;
  set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, kIdle_s);
  set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, kInterval_s);
  set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(unreachable_s * 1000));
}

}  // namespace rondo
