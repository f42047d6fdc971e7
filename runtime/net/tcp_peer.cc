// SPDX-License-Identifier: Apache-2.0
#include "net/tcp_peer.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

#include "base/file_contents.h"

namespace rondo {
namespace {

constexpr size_t kMaxListing = 1 << 20;  // bytes: about 7,000 sockets

const Status& unknown_user() {
  static const Status& status =
      *new Status(Code::Unsupported, "the user at the other end of the connection cannot be told");
  return status;
}

const sockaddr* raw(const Address& address) { return reinterpret_cast<const sockaddr*>(&address.storage); }

using NameOf = int (*)(int, sockaddr*, socklen_t*);
std::optional<Address> name_of(int fd, NameOf name) {
  Address address;
  address.length = sizeof address.storage;
  if (name(fd, reinterpret_cast<sockaddr*>(&address.storage), &address.length) != 0) return std::nullopt;
  return address;
}

/// The address and the port as they are in memory.
void copy_address(const Address& address, __be32* ip, __be16& port) {
  if (address.storage.ss_family == AF_INET) {
    const auto* in = reinterpret_cast<const sockaddr_in*>(&address.storage);
    std::memcpy(ip, &in->sin_addr, sizeof in->sin_addr);
    port = in->sin_port;
  } else {
    const auto* in = reinterpret_cast<const sockaddr_in6*>(&address.storage);
    std::memcpy(ip, &in->sin6_addr, sizeof in->sin6_addr);
    port = in->sin6_port;
  }
}

struct DiagRequest {
  nlmsghdr header{};
  inet_diag_req_v2 socket{};
};

struct DiagAnswer {
  nlmsghdr header{};
  inet_diag_msg socket{};
  std::array<std::byte, 1024> more{};  // attributes
};

/// Asks for one socket, whose answer the kernel queues before send() returns. Nothing: it cannot be asked.
std::optional<Result<unsigned>> ask_kernel(const Address& peer, const Address& own) {
  const Fd fd(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG));
  if (!fd.valid()) return std::nullopt;
  DiagRequest request;
  request.header.nlmsg_len = sizeof request;
  request.header.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.socket.sdiag_family = static_cast<__u8>(peer.storage.ss_family);
  request.socket.sdiag_protocol = IPPROTO_TCP;
  request.socket.idiag_states = ~0U;
  request.socket.id.idiag_cookie[0] = request.socket.id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  copy_address(peer, request.socket.id.idiag_src, request.socket.id.idiag_sport);
  copy_address(own, request.socket.id.idiag_dst, request.socket.id.idiag_dport);
  if (::send(fd.get(), &request, sizeof request, 0) != sizeof request) return std::nullopt;
  DiagAnswer answer;
  const ssize_t got = ::recv(fd.get(), &answer, sizeof answer, 0);
  if (got < static_cast<ssize_t>(sizeof answer.header)) return std::nullopt;
  if (answer.header.nlmsg_type == NLMSG_ERROR) {
    nlmsgerr failure{};
    std::memcpy(&failure, &answer.socket, sizeof failure.error);
    if (failure.error == -ENOENT) return unknown_user();  // it is not on this host
    return std::nullopt;
  }
  if (answer.header.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
      got < static_cast<ssize_t>(offsetof(DiagAnswer, more)))
    return std::nullopt;
  // If there is no such connection, the kernel tells of a listener at the peer's port instead: a peer on
  // another host may have chosen its port so.
  if (answer.socket.id.idiag_dport != request.socket.id.idiag_dport) return unknown_user();
  if (answer.socket.idiag_inode == 0) return unknown_user();  // no process has it any more
  return answer.socket.idiag_uid;
}

/// As the listings have it: words of the machine's byte order in hexadecimal digits, and the port.
std::string listed(const Address& address) {
  std::array<__be32, 4> ip{};
  __be16 port = 0;
  copy_address(address, ip.data(), port);
  std::string text;
  for (size_t at = 0; at < (address.storage.ss_family == AF_INET ? 1U : 4U); ++at)
    text += fmt::format("{:08X}", ip.at(at));
  return fmt::format("{}:{:04X}", text, ntohs(port));
}

/// The n-th field of a line, from 0; empty: it has fewer.
std::string_view field(std::string_view line, int n) {
  for (;; --n) {
    line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
    const std::string_view first = line.substr(0, line.find(' '));
    if (n == 0 || first.empty()) return first;
    line.remove_prefix(first.size());
  }
}

}  // namespace

Result<unsigned> user_in_listing(std::string_view listing, const Address& peer, const Address& own) {
  const std::string addresses = fmt::format(" {} {} ", listed(peer), listed(own));
  const size_t at = listing.find(addresses);
  if (at == listing.npos) return unknown_user();
  const std::string_view rest = listing.substr(at + addresses.size());
  const std::string_view line = rest.substr(0, rest.find('\n'));
  // After the addresses: state, queues, timer, retransmits, uid, timeout, inode.
  const std::string_view uid = field(line, 4);
  unsigned user = 0;
  const auto [end, problem] = std::from_chars(uid.data(), uid.data() + uid.size(), user);
  if (problem != std::errc() || end != uid.data() + uid.size()) return unknown_user();
  if (const std::string_view inode = field(line, 6); inode.empty() || inode == "0") return unknown_user();
  return user;
}

Result<unsigned> tcp_peer_user(int fd) {
  const auto peer = name_of(fd, ::getpeername);
  const auto own = name_of(fd, ::getsockname);
  if (!peer || !own || raw(*peer)->sa_family != raw(*own)->sa_family) return unknown_user();
  const bool is_ipv4 = raw(*peer)->sa_family == AF_INET;
  if (!is_ipv4 && raw(*peer)->sa_family != AF_INET6) return unknown_user();
  if (auto user = ask_kernel(*peer, *own)) return std::move(*user);
  return user_in_listing(file_contents(is_ipv4 ? "/proc/net/tcp" : "/proc/net/tcp6", kMaxListing), *peer,
                         *own);
}

}  // namespace rondo
