// SPDX-License-Identifier: Apache-2.0
#include "tcp/inbox.h"

#include <sys/socket.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <iterator>

#include "base/error_kinds.h"

namespace rondo::tcp {

Inbox::Inbox(const Terms& terms) : terms_(terms), streams_(terms.params.sockets), slots_(terms.params.slots) {
  for (size_t i = 0; i < streams_.size(); ++i) streams_[i].next = i;
}

const Arrival* Inbox::oldest() {
  const Slot& oldest = slot(released_);
  if (!oldest.complete) return nullptr;
  oldest_ = {place(released_), static_cast<size_t>(oldest.frame.bytes), &oldest.frame.signature};
  return &oldest_;
}

void Inbox::release() {
  assert(slot(released_).complete);
  slot(released_).complete = false;
  expected_.place = nullptr;
  ++released_;
}

void Inbox::expect(std::byte* place, size_t bytes, const Signature& signature) {
  if (stopped_ || (expected_.place == place && expected_.bytes == bytes)) return;  // repeated hint
  expected_ = {place, bytes, signature};
  redirect(streams_[oldest_socket()]);
}

/// Redirects this stream's current message, with the bytes already received, to its expected address, if any.
void Inbox::redirect(const Stream& stream) {
  Slot& oldest = slot(released_);
  if (expected_.place == nullptr || !stream.in_message || stream.next != released_) return;
  if (oldest.frame.bytes != expected_.bytes || !(oldest.frame.signature == expected_.signature)) return;
  if (stream.got != 0) std::memcpy(expected_.place, place(released_), stream.got);
  oldest.place = expected_.place;
}

/// Bytes of the current message that have not arrived.
size_t Inbox::missing(const Stream& stream) const {
  if (!stream.in_message) return 0;
  return static_cast<size_t>(slot(stream.next).frame.bytes) - stream.got;
}

/// Buffer space for bytes after the current message: many messages if they are short, but only the beginning
/// of a long one, because its rest is better read directly to its destination.
size_t Inbox::room(const Stream& stream) {
  const size_t most = stream.is_short ? kBuffer : sizeof(Frame) + kShort;
  return most - std::min(most, stream.end - stream.begin);
}

/// Reads the current message's bytes to their destination and any bytes after them into the buffer.
ssize_t Inbox::receive(int fd, const Stream& stream, const iovec& buffer) const {
  if (missing(stream) == 0) return ::recv(fd, buffer.iov_base, buffer.iov_len, MSG_DONTWAIT);
  iovec parts[2] = {{place(stream.next) + stream.got, missing(stream)}, buffer};
  msghdr header{};
  header.msg_iov = parts;
  header.msg_iovlen = std::size(parts);
  return ::recvmsg(fd, &header, MSG_DONTWAIT);
}

bool Inbox::takes_from(size_t socket) const {
  const Stream& stream = streams_[socket];
  return !stopped_ && missing(stream) + room(stream) != 0;
}

Status Inbox::read(size_t socket, int fd) {
  if (stopped_) return {};
  Stream& stream = streams_[socket];
  const bool was_complete = slot(released_).complete;
  RONDO_TRY(parse(stream, socket));  // a slot may have become free for a buffered message
  if (!was_complete && slot(released_).complete) return {};
  std::memmove(stream.buffer.get(), stream.buffer.get() + stream.begin, stream.end - stream.begin);
  stream.end -= std::exchange(stream.begin, 0);
  const iovec buffer{stream.buffer.get() + stream.end, room(stream)};
  if (missing(stream) + buffer.iov_len == 0) return {};  // no free slot
  const ssize_t got = receive(fd, stream, buffer);
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return {};
  if (got < 0) return broken(terms_, "receiving from", errno);
  if (got == 0) return end(stream);
  accept(stream, static_cast<size_t>(got));
  return parse(stream, socket);
}

/// Accounts for received bytes: first those of the current message, then those in the buffer.
void Inbox::accept(Stream& stream, size_t bytes) {
  const size_t in_slot = std::min(bytes, missing(stream));
  stream.got += in_slot;
  stream.end += bytes - in_slot;
}

Status Inbox::parse(Stream& stream, size_t socket) {
  if (!stream.greeted && stream.end - stream.begin >= sizeof(StreamHello))
    RONDO_TRY(take_hello(stream, socket));
  if (!stream.greeted) return {};
  for (;;) {
    if (stream.in_message) take_bytes(stream);
    if (stream.in_message || !is_free(stream.next) || stream.end - stream.begin < sizeof(Frame)) return {};
    RONDO_TRY(take_frame(stream));
  }
}

Status Inbox::take_hello(Stream& stream, size_t socket) {
  StreamHello hello;
  std::memcpy(&hello, stream.buffer.get() + stream.begin, sizeof hello);
  if (hello.magic != StreamHello::kMagic)
    return error(ErrorKind::MessageBroken, "rank {} began with {:#x}, which is not a Rondo connection",
                 terms_.peer, hello.magic);
  if (hello.version != StreamHello::kVersion)
    return error(ErrorKind::VersionDiffers,
                 "rank {} speaks version {} of the tcp transport; this end speaks {}", terms_.peer,
                 hello.version, StreamHello::kVersion)
        .as(Code::RemoteError);
  RONDO_TRY(compare(terms_.params, {hello.slot_bytes, hello.slots, hello.sockets}));
  if (hello.index != socket)
    return error(ErrorKind::MessageBroken, "rank {} calls socket {} number {}", terms_.peer, socket,
                 hello.index);
  stream.begin += sizeof hello;
  stream.greeted = true;
  return {};
}

Status Inbox::take_frame(Stream& stream) {
  Frame& frame = slot(stream.next).frame;
  std::memcpy(&frame, stream.buffer.get() + stream.begin, sizeof frame);
  if (frame.magic != Frame::kMagic)
    return error(ErrorKind::MessageBroken, "message {} from rank {} begins with {:#x} instead of {:#x}",
                 stream.next, terms_.peer, frame.magic, Frame::kMagic);
  if (frame.bytes > terms_.params.slot_bytes)
    return error(ErrorKind::MessageBroken, "message {} from rank {} says {} bytes; a slot has {}",
                 stream.next, terms_.peer, frame.bytes, terms_.params.slot_bytes);
  if (frame.sequence != stream.next)
    return error(ErrorKind::MessageBroken, "rank {} sent message {} instead of message {}", terms_.peer,
                 frame.sequence, stream.next);
  if (memory_ == nullptr) memory_ = allocate_aligned(aligned_size(terms_.params.slot_bytes) * slots_.size());
  stream.begin += sizeof frame;
  stream.in_message = true;
  stream.is_short = frame.bytes <= kShort;
  stream.got = 0;
  slot(stream.next).place = nullptr;
  redirect(stream);
  return {};
}

/// Moves buffered bytes of the current message to its slot.
void Inbox::take_bytes(Stream& stream) {
  const size_t here = std::min(missing(stream), stream.end - stream.begin);
  if (here != 0) std::memcpy(place(stream.next) + stream.got, stream.buffer.get() + stream.begin, here);
  stream.begin += here;
  stream.got += here;
  if (missing(stream) != 0) return;
  slot(stream.next).complete = true;
  stream.in_message = false;
  stream.next += streams_.size();
}

Status Inbox::end(Stream& stream) const {
  const bool inside = !stream.greeted || stream.in_message || stream.begin != stream.end;
  stream.has_left = !inside;
  return error(ErrorKind::ConnectionBroken, "rank {} closed the connection{}", terms_.peer,
               inside ? " in the middle of a message" : "");
}

}  // namespace rondo::tcp
