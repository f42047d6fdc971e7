// SPDX-License-Identifier: Apache-2.0
#include "tcp/outbox.h"

#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <iterator>

namespace rondo::tcp {

Outbox::Outbox(const Terms& terms)
    : terms_(terms), entries_(terms.params.slots), next_(terms.params.sockets) {
  for (size_t i = 0; i < next_.size(); ++i) next_[i] = i;
}

std::byte* Outbox::slot() {
  if (staging_ == nullptr) staging_ = allocate_aligned(stride() * entries_.size());
  return slot_of(committed_);
}

void Outbox::add(const std::byte* data, size_t bytes, const Signature& signature) {
  assert(has_room() && bytes <= terms_.params.slot_bytes);
  QueuedFrame& next = entry(committed_);
  next.frame = {.bytes = bytes, .sequence = committed_, .signature = signature};
  next.data = data;
  next.is_staged = staging_ != nullptr && data == slot_of(committed_);
  if (next.is_staged) std::memcpy(slot_of(committed_) - sizeof(Frame), &next.frame, sizeof(Frame));
  next.left = sizeof(Frame) + bytes;
  ++committed_;
  ++waiting_;
}

size_t Outbox::waiting_socket() const {
  return static_cast<size_t>(std::min_element(next_.begin(), next_.end()) - next_.begin());
}

/// Uses one send() if frame and data are contiguous, as in short messages: it is faster than sendmsg().
ssize_t Outbox::send_some(const QueuedFrame& message, int fd) {
  constexpr int kFlags = MSG_NOSIGNAL | MSG_DONTWAIT;
  const size_t bytes = static_cast<size_t>(message.frame.bytes);
  const std::byte* end = message.data + bytes;
  if (message.is_staged || message.left <= bytes) return ::send(fd, end - message.left, message.left, kFlags);
  const size_t gone = sizeof(Frame) + bytes - message.left;
  auto* frame = const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&message.frame));
  iovec parts[2] = {{frame + gone, sizeof(Frame) - gone}, {const_cast<std::byte*>(message.data), bytes}};
  msghdr header{};
  header.msg_iov = parts;
  header.msg_iovlen = std::size(parts);
  return ::sendmsg(fd, &header, kFlags);
}

Status Outbox::send(size_t socket, int fd) {
  while (next_[socket] < committed_) {
    QueuedFrame& message = entry(next_[socket]);
    const ssize_t sent = send_some(message, fd);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0 && errno == EAGAIN) return {};
    if (sent < 0) return broken(terms_, "sending to", errno);
    message.left -= static_cast<size_t>(sent);
    if (message.left != 0) return {};  // the kernel's buffer is full
    next_[socket] += terms_.params.sockets;
    --waiting_;
  }
  return {};
}

}  // namespace rondo::tcp
