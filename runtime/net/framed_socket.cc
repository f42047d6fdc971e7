// SPDX-License-Identifier: Apache-2.0
#include "net/framed_socket.h"

#include <cerrno>
#include <cstring>

#include "base/error_kinds.h"
#include "net/event_loop.h"

namespace rondo {
namespace {

struct FrameHeader {
  uint32_t bytes;
  MessageType type;
};

std::vector<std::byte> frame(MessageType type, const ByteWriter& body) {
  const FrameHeader header{static_cast<uint32_t>(body.bytes().size()), type};
  std::vector<std::byte> whole(sizeof header + body.bytes().size());
  std::memcpy(whole.data(), &header, sizeof header);
  if (!body.bytes().empty())
    std::memcpy(whole.data() + sizeof header, body.bytes().data(), body.bytes().size());
  return whole;
}

}  // namespace

FramedSocket::FramedSocket(EventLoop& poller, Fd fd, OnMessage on_message, OnClosed on_closed)
    : event_loop_(poller),
      fd_(std::move(fd)),
      on_message_(std::move(on_message)),
      on_closed_(std::move(on_closed)) {
  event_loop_.watch(fd_.get(), EPOLLIN, [this](uint32_t events) { on_ready(events); });
}

FramedSocket::~FramedSocket() {
  *alive_ = false;
  event_loop_.unwatch(fd_.get());
}

void FramedSocket::send(MessageType type, const ByteWriter& body) {
  const auto whole = frame(type, body);
  out_.insert(out_.end(), whole.begin(), whole.end());
  // The rest goes out when the socket has room; a broken socket is noticed by the reader.
  if (flush() && !out_.empty()) event_loop_.change(fd_.get(), EPOLLIN | EPOLLOUT);
}

bool FramedSocket::flush() {
  size_t sent = 0;
  while (sent < out_.size()) {
    const ssize_t some = ::send(fd_.get(), out_.data() + sent, out_.size() - sent, MSG_NOSIGNAL);
    if (some < 0 && errno == EINTR) continue;
    if (some < 0 && errno != EAGAIN) {
      error_number_ = errno;  // the kernel reports it only once
      out_.clear();
      return false;
    }
    if (some < 0) break;
    sent += static_cast<size_t>(some);
  }
  // A new vector, so that the memory is freed too: the bootstrap root sends every rank the whole table.
  out_ = {out_.begin() + static_cast<std::ptrdiff_t>(sent), out_.end()};
  return true;
}

void FramedSocket::on_ready(uint32_t events) {
  const auto alive = alive_;
  if ((events & EPOLLOUT) != 0 && flush() && out_.empty()) event_loop_.change(fd_.get(), EPOLLIN);
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0) return;
  const bool open = read_some();
  deliver();  // messages that arrived before the close still count
  if (*alive && !open) {
    event_loop_.unwatch(fd_.get());
    on_closed_();
  }
}

bool FramedSocket::read_some() {
  for (;;) {
    std::byte chunk[16 * 1024];
    const ssize_t got = ::recv(fd_.get(), chunk, sizeof chunk, 0);
    if (got > 0) {
      in_.insert(in_.end(), chunk, chunk + got);
    } else if (got < 0 && errno == EINTR) {
      continue;
    } else {
      if (got < 0 && errno == EAGAIN) return true;
      if (got < 0 && error_number_ == 0) error_number_ = errno;
      return false;
    }
  }
}

void FramedSocket::deliver() {
  const auto alive = alive_;
  while (*alive && in_.size() >= sizeof(FrameHeader)) {
    const auto header = ByteReader(in_).get<FrameHeader>();
    const size_t whole = sizeof header + header.bytes;
    if (header.bytes > kMaxMessageBytes) {
      in_.clear();
      on_closed_();
      return;
    }
    if (in_.size() < whole) return;
    ControlMessage message{header.type,
                           {in_.begin() + sizeof header, in_.begin() + static_cast<std::ptrdiff_t>(whole)}};
    in_.erase(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(whole));
    on_message_(std::move(message));
  }
}

Status send_message(const Fd& fd, MessageType type, const ByteWriter& body, const Deadline& deadline,
                    const Interrupt& interrupt) {
  return send_all(fd, frame(type, body), deadline, interrupt);
}

Result<ControlMessage> receive_message(const Fd& fd, const Deadline& deadline, const Interrupt& interrupt) {
  FrameHeader header{};
  RONDO_TRY(receive_all(fd, std::as_writable_bytes(std::span(&header, 1)), deadline, interrupt));
  if (header.bytes > kMaxMessageBytes) return Status(ErrorKind::MessageBroken, "a control message is broken");
  ControlMessage message{header.type, std::vector<std::byte>(header.bytes)};
  RONDO_TRY(receive_all(fd, message.body, deadline, interrupt));
  return message;
}

}  // namespace rondo
