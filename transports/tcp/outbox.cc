#include "tcp/outbox.h"

#include <sys/socket.h>

#include <cassert>
#include <cerrno>

namespace rondo::tcp {
namespace {

/// What is left of a message, as one or two pieces.
int pieces(const Frame& frame, const std::byte* data, size_t left, iovec* out) {
  const auto total = sizeof frame + static_cast<size_t>(frame.bytes);
  const size_t gone = total - left;
  int count = 0;
  if (gone < sizeof frame)
    out[count++] = {const_cast<std::byte*>(reinterpret_cast<const std::byte*>(&frame)) + gone,
                    sizeof frame - gone};
  const size_t data_gone = gone < sizeof frame ? 0 : gone - sizeof frame;
  if (data_gone < frame.bytes)
    out[count++] = {const_cast<std::byte*>(data) + data_gone, static_cast<size_t>(frame.bytes) - data_gone};
  return count;
}

}  // namespace

Outbox::Outbox(const Terms& terms)
    : terms_(terms), entries_(terms.params.slots), next_(terms.params.sockets) {
  for (size_t i = 0; i < next_.size(); ++i) next_[i] = i;
}

std::byte* Outbox::slot() {
  const size_t stride = aligned_size(terms_.params.slot_bytes);
  if (staging_ == nullptr) staging_ = allocate_aligned(stride * entries_.size());
  return staging_.get() + committed_ % entries_.size() * stride;
}

void Outbox::add(const std::byte* data, size_t bytes, const Signature& signature) {
  assert(has_room() && bytes <= terms_.params.slot_bytes);
  Entry& next = entry(committed_);
  next.frame = {.bytes = bytes, .sequence = committed_, .signature = signature};
  next.data = data;
  next.left = sizeof(Frame) + bytes;
  ++committed_;
  ++waiting_;
}

Status Outbox::send(size_t socket, int fd) {
  while (next_[socket] < committed_) {
    Entry& message = entry(next_[socket]);
    iovec parts[2];
    msghdr header{};
    header.msg_iov = parts;
    header.msg_iovlen = static_cast<size_t>(pieces(message.frame, message.data, message.left, parts));
    const ssize_t sent = ::sendmsg(fd, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
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
