// SPDX-License-Identifier: Apache-2.0
#include "server_handshake.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>

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

}  // namespace

struct ServerHandshake::Talk {
  Transcript said;
  Secret secret;
};

ServerHandshake::ServerHandshake(EventLoop& poller, Fd fd, Address from, HandshakeOwner& desk)
    : event_loop_(poller),
      fd_(std::move(fd)),
      from_(from),
      desk_(desk),
      timer_(poller.after_ms(kPatience_ms, [this] { turn_away("it sent nothing for too long"); })) {
  event_loop_.watch(fd_.get(), EPOLLIN, [this](uint32_t) { on_ready(); });
}

ServerHandshake::~ServerHandshake() {
  event_loop_.cancel(timer_);
  if (fd_.valid()) event_loop_.unwatch(fd_.get());
}

void ServerHandshake::on_ready() {
  if (talk_ == nullptr) return on_hello();
  on_claim();
}

bool ServerHandshake::read_into(void* out, size_t bytes) {
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

void ServerHandshake::on_hello() {
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
  talk_ = std::make_unique<Talk>(Talk{said, *secret});
}

void ServerHandshake::on_claim() {
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

/// A fresh socket's buffer holds the few bytes of a handshake.
bool ServerHandshake::send(const void* bytes, size_t count) {
  return ::send(fd_.get(), bytes, count, MSG_NOSIGNAL) == static_cast<ssize_t>(count);
}

void ServerHandshake::turn_away(const std::string& why) {
  desk_.turned_away(why, from_);
  desk_.over(this);
}

}  // namespace rondo
