#include "comm/greetings.h"

#include <sys/resource.h>

#include <algorithm>

namespace rondo {
namespace {

constexpr size_t kMost = 1024;
constexpr size_t kFew = 16;   // may wait however many descriptors the process has used
constexpr size_t kShare = 8;  // strangers get one in so many of the descriptors, and not the last of them

/// Whoever has one address of an IPv6 network has 2^64: those count as one. Unix sockets have none.
IpAddress source_of(const Address& from) {
  IpAddress ip = from.ip();
  if (!is_mapped_ipv4(ip)) std::fill(ip.begin() + 8, ip.end(), uint8_t{0});
  return ip;
}

}  // namespace

bool Greetings::add(Fd fd, const Address& from) {
  const bool full = is_full(fd.get()) && drop_one();
  waiting_.push_back(std::make_unique<Greeting>(poller_, std::move(fd), from, desk_));
  ++by_source_[source_of(from)];
  waiting_.back()->on_ready();  // the first bytes of a rank come with its connection
  return !full;
}

bool Greetings::is_full(int newest_fd) const {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  const size_t share = limit.rlim_cur / kShare;
  if (waiting_.size() >= std::clamp(share, kFew, kMost)) return true;
  // Numbers are given out from the lowest on: this one says how many are in use.
  return static_cast<size_t>(newest_fd) >= limit.rlim_cur - share && waiting_.size() >= kFew;
}

bool Greetings::drop_one() {
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

void Greetings::erase(const Greeting* greeting) {
  const auto found =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& one) { return one.get() == greeting; });
  if (found == waiting_.end()) return;
  const auto source = by_source_.find(source_of(greeting->from()));
  if (--source->second == 0) by_source_.erase(source);
  // It says so from its own handler, so it is freed a moment later.
  poller_.post([last = std::shared_ptr<Greeting>(std::move(*found))] {});
  waiting_.erase(found);
}

}  // namespace rondo
