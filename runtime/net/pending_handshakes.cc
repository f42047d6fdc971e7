// SPDX-License-Identifier: Apache-2.0
#include "pending_handshakes.h"

#include <sys/resource.h>

#include <algorithm>

#include "server_handshake.h"

namespace rondo {
namespace {

constexpr size_t kMax = 1024;
constexpr size_t kFew = 16;   // may wait regardless of how many descriptors the process has used
constexpr size_t kShare = 8;  // strangers get 1 / kShare of the descriptors, and never the last ones

/// A machine with one address of an IPv6 network has 2^64 of them, so a /64 counts as one source. Unix
/// sockets have no address.
IpAddress source_of(const Address& from) {
  IpAddress ip = from.ip();
  if (!is_mapped_ipv4(ip)) std::fill(ip.begin() + 8, ip.end(), uint8_t{0});
  return ip;
}

}  // namespace

PendingHandshakes::PendingHandshakes(EventLoop& poller, HandshakeOwner& desk)
    : event_loop_(poller), desk_(desk) {}

PendingHandshakes::~PendingHandshakes() = default;

bool PendingHandshakes::add(Fd fd, const Address& from) {
  const bool full = is_full(fd.get()) && drop_one();
  waiting_.push_back(std::make_unique<ServerHandshake>(event_loop_, std::move(fd), from, desk_));
  ++by_source_[source_of(from)];
  waiting_.back()->on_ready();  // a rank's first bytes usually arrive with its connection
  return !full;
}

bool PendingHandshakes::is_full(int newest_fd) const {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const size_t share = limit.rlim_cur / kShare;
  if (waiting_.size() >= std::clamp(share, kFew, kMax)) return true;
  // The kernel assigns the lowest free number, so this one tells how many are in use.
  return static_cast<size_t>(newest_fd) >= limit.rlim_cur - share && waiting_.size() >= kFew;
}

bool PendingHandshakes::drop_one() {
  const auto most = std::max_element(by_source_.begin(), by_source_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == by_source_.end()) return false;
  const auto is_of_most = [&](const auto& one) { return source_of(one->from()) == most->first; };
  auto victim = std::find_if(waiting_.begin(), waiting_.end(),
                             [&](const auto& one) { return !one->knows_session() && is_of_most(one); });
  if (victim == waiting_.end()) victim = std::find_if(waiting_.begin(), waiting_.end(), is_of_most);
  if (--most->second == 0) by_source_.erase(most);
  waiting_.erase(victim);
  return true;
}

void PendingHandshakes::erase(const ServerHandshake* greeting) {
  const auto found =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& one) { return one.get() == greeting; });
  if (found == waiting_.end()) return;
  const auto source = by_source_.find(source_of(greeting->from()));
  if (--source->second == 0) by_source_.erase(source);
  // Called from its own handler, so it is freed after that has returned.
  event_loop_.post([last = std::shared_ptr<ServerHandshake>(std::move(*found))] {});
  waiting_.erase(found);
}

}  // namespace rondo
