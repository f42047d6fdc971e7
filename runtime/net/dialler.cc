// SPDX-License-Identifier: Apache-2.0
#include "net/dialler.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/error_kinds.h"
#include "handshake_format.h"

namespace rondo {
namespace {

/// A fresh socket's buffer holds the few bytes of a handshake.
Status send_whole(const Fd& fd, std::span<const std::byte> bytes) {
  return send_all(fd, bytes, Deadline::in_ms(0), {});
}

}  // namespace

Dialler::Dialler(EventLoop& event_loop, std::vector<Address> addresses, const Credentials& credentials,
                 const ConnectRequest& purpose, const Patience& patience, OnDone on_done)
    : event_loop_(event_loop),
      addresses_(std::move(addresses)),
      credentials_(credentials),
      patience_(patience),
      on_done_(std::move(on_done)),
      connect_by_(Deadline::in_ms(patience.connect_ms)),
      said_(std::make_unique<Transcript>(Transcript{.purpose = purpose, .speaker = Speaker::self()})),
      worst_(Status(Code::RemoteError, "it has no address")) {
  timer_ = event_loop_.after_ms(0, [this] { addresses_.empty() ? end(worst_) : begin(); });
}

Dialler::~Dialler() {
  event_loop_.cancel(timer_);
  if (fd_.valid()) event_loop_.unwatch(fd_.get());
}

void Dialler::arm(int64_t delay_ms) {
  event_loop_.cancel(timer_);
  timer_ = event_loop_.after_ms(delay_ms, [this] {
    fail(awaited_ == Awaited::Connection
             ? error(Code::Timeout, "{} did not answer", address().text())
             : Status(Code::Timeout, "it did not answer").within(address().text()));
  });
}

/// With the address that is next.
void Dialler::begin() {
  auto fd = socket_for(address());
  if (!fd.ok()) return end(fd.status());
  fd_ = fd.take();
  awaited_ = Awaited::Connection;
  in_.clear();
  contact_ = std::max(contact_, Contact::Sought);
  arm(connect_by_.left_ms() / static_cast<int64_t>(addresses_.size() - at_));
  event_loop_.watch(fd_.get(), EPOLLOUT, [this](uint32_t) { on_ready(); });
  if (const Status begun = begin_connect(fd_, address()); !begun.ok()) fail(begun);
}

void Dialler::fail(const Status& failure) {
  event_loop_.unwatch(fd_.get());
  fd_.close();
  if (awaited_ != Awaited::Connection) connect_by_ = Deadline::in_ms(connect_left_ms_);
  // Of equals one that took the connection says more than one that did not.
  const std::pair weight(weight_of(failure), awaited_ != Awaited::Connection);
  if (at_ == 0 || weight > worst_weight_) {
    worst_ = failure;
    worst_weight_ = weight;
  }
  if (++at_ < addresses_.size()) return begin();
  end(worst_);
}

void Dialler::end(Result<Fd> result) {
  event_loop_.cancel(timer_);
  const OnDone on_done = std::move(on_done_);
  on_done(std::move(result), contact_);  // last: it may destroy this
}

void Dialler::on_ready() {
  const Status status = advance();
  if (status.code() == Code::InProgress) return;
  if (!status.ok()) return fail(status);
  event_loop_.unwatch(fd_.get());
  end(std::move(fd_));
}

/// InProgress: more is to come.
Status Dialler::advance() {
  if (awaited_ == Awaited::Connection) {
    RONDO_TRY(connect_result(fd_, address()));
    contact_ = Contact::Made;
    connect_left_ms_ = connect_by_.left_ms();
    arm(patience_.answer_ms);
    return say_hello();
  }
  Status failure;
  if (awaited_ == Awaited::Answer) {
    if (!read_all(std::as_writable_bytes(std::span(&said_->answer, 1)), failure)) return failure;
    RONDO_TRY(check_answer(said_->answer).within(address().text()));
    return say_claim();
  }
  Receipt receipt;
  if (!read_all(std::as_writable_bytes(std::span(&receipt, 1)), failure)) return failure;
  return check_receipt(receipt, credentials_.secret, *said_).within(address().text());
}

Status Dialler::say_hello() {
  said_->hello.session = credentials_.session;
  said_->hello.nonce = random_nonce();
  awaited_ = Awaited::Answer;
  event_loop_.change(fd_.get(), EPOLLIN);
  RONDO_TRY(send_whole(fd_, raw(said_->hello)).within(address().text()));
  return Status(Code::InProgress, {});
}

Status Dialler::say_claim() {
  awaited_ = Awaited::Receipt;
  const Claim claim{said_->purpose, said_->speaker, dialler_proof(credentials_.secret, *said_)};
  RONDO_TRY(send_whole(fd_, raw(claim)).within(address().text()));
  return Status(Code::InProgress, {});
}

/// False: not yet, or not at all, which `failure` says. Nothing beyond is read: it is the owner's.
bool Dialler::read_all(std::span<std::byte> out, Status& failure) {
  while (in_.size() < out.size()) {
    std::byte chunk[sizeof(Transcript)];
    const size_t wanted = std::min(sizeof chunk, out.size() - in_.size());
    const ssize_t got = ::recv(fd_.get(), chunk, wanted, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) {
      failure = Status(Code::InProgress, {});
      return false;
    }
    if (got <= 0) {
      failure = error(ErrorKind::ConnectionBroken, "{} closed the connection", address().text());
      return false;
    }
    in_.insert(in_.end(), chunk, chunk + got);
  }
  std::memcpy(out.data(), in_.data(), out.size());
  in_.clear();
  return true;
}

}  // namespace rondo
