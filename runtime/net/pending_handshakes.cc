// SPDX-License-Identifier: Apache-2.0
#include "pending_handshakes.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "handshake_format.h"

namespace rondo {
namespace {

constexpr int64_t kPatience_ms = 5000;  // how long a stranger may keep a socket

/// Only characters that are valid in a host name reach the log: a stranger may have written anything.
std::string speaker_text(const ConnectRequest& purpose, const Speaker& speaker) {
  std::string host(speaker.host, ::strnlen(speaker.host, sizeof speaker.host));
  std::replace_if(
      host.begin(), host.end(),
      [](unsigned char c) { return std::isalnum(c) == 0 && c != '-' && c != '.' && c != '_'; }, '?');
  return fmt::format("a process that claims to be rank {} (process {} on host {})", purpose.from_rank,
                     speaker.pid, host);
}

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

/// The listener's side of the handshake for one arriving connection, until it is admitted or turned away.
class ServerHandshake {
 public:
  ServerHandshake(EventLoop& poller, Fd fd, Address from, HandshakeOwner& desk)
      : event_loop_(poller),
        fd_(std::move(fd)),
        from_(from),
        desk_(desk),
        timer_(poller.after_ms(kPatience_ms, [this] { turn_away("it sent nothing for too long"); })) {
    event_loop_.watch(fd_.get(), EPOLLIN, [this](uint32_t) { on_ready(); });
  }

  ~ServerHandshake() {
    event_loop_.cancel(timer_);
    if (fd_.valid()) event_loop_.unwatch(fd_.get());
  }

  const Address& from() const { return from_; }
  /// True once it has named a session that is known here.
  bool knows_session() const { return talk_.has_value(); }
  /// Processes the bytes that have arrived; the ServerHandshake may be over afterwards.
  void on_ready() { !talk_ ? on_hello() : on_claim(); }

 private:
  struct Talk {
    Transcript said;
    Secret secret;
  };
  /// True when complete.
  bool read_into(void* out, size_t bytes) {
    while (bytes_.size() < bytes) {
      std::byte chunk[256];
      const ssize_t got = ::recv(fd_.get(), chunk, std::min(sizeof chunk, bytes - bytes_.size()), 0);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return false;
      if (got <= 0) {
        turn_away("it hung up");
        return false;
      }
      bytes_.insert(bytes_.end(), chunk, chunk + got);
    }
    std::memcpy(out, bytes_.data(), bytes);
    bytes_.clear();
    return true;
  }

  /// A fresh socket's buffer holds the few bytes of a handshake.
  bool send(const void* bytes, size_t count) {
    return ::send(fd_.get(), bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count);
  }

  void on_hello() {
    // A scanner is rejected as soon as the Hello is complete.
    Transcript said;
    if (!read_into(&said.hello, sizeof said.hello)) return;
    if (said.hello.magic != kMagic) return turn_away("its first bytes are not Rondo's");
    const Secret* secret = desk_.secret_of(said.hello.session);
    if (said.hello.version != kVersion)
      said.answer.verdict = Verdict::WrongVersion;
    else if (secret == nullptr)
      said.answer.verdict = Verdict::UnknownSession;
    else
      said.answer.nonce = random_nonce();
    const bool sent = send(&said.answer, sizeof said.answer);
    if (said.answer.verdict == Verdict::WrongVersion)
      return turn_away("it speaks a different version of the protocol");
    if (said.answer.verdict == Verdict::UnknownSession) return turn_away("its session is not known here");
    if (!sent) return desk_.over(this);  // a rank of the session, which has given up
    talk_ = Talk{said, *secret};
  }

  void on_claim() {
    Claim claim;
    if (!read_into(&claim, sizeof claim)) return;
    Transcript& said = talk_->said;
    said.purpose = claim.purpose;
    said.speaker = claim.speaker;
    Receipt receipt;
    if (!same_digest(claim.proof, dialler_proof(talk_->secret, said))) {
      receipt.verdict = Verdict::WrongSecret;
      send(&receipt, sizeof receipt);
      return turn_away(fmt::format("{} has a different {}", speaker_text(said.purpose, said.speaker),
                                   secret_name(said.purpose.kind)));
    }
    if (!desk_.expects(said.hello.session, said.purpose.to_rank)) {  // its process has other ranks
      receipt.verdict = Verdict::UnknownSession;
      send(&receipt, sizeof receipt);
      return desk_.over(this);
    }
    receipt.proof = listener_proof(talk_->secret, said);
    if (send(&receipt, sizeof receipt)) {
      event_loop_.unwatch(fd_.get());
      desk_.admit(said.hello.session, said.purpose, std::move(fd_));
    }
    desk_.over(this);
  }

  void turn_away(const std::string& why) {
    desk_.turned_away(why, from_);
    desk_.over(this);
  }

  EventLoop& event_loop_;
  Fd fd_;
  Address from_;
  HandshakeOwner& desk_;
  EventLoop::Timer timer_;
  std::vector<std::byte> bytes_;
  std::optional<Talk> talk_;  // set once Hello is accepted; the Claim is next
};

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
  const size_t limit = max_descriptors();
  const size_t share = limit / kShare;
  if (waiting_.size() >= std::clamp(share, kFew, kMax)) return true;
  // The kernel assigns the lowest free number, so this one tells how many are in use.
  return static_cast<size_t>(newest_fd) >= limit - share && waiting_.size() >= kFew;
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
