// SPDX-License-Identifier: Apache-2.0
// SharedSegment: memory shared between processes, as a memfd: it has no name, so it disappears with its last
// user, however that one ends. Its size is sealed, so no process can shrink it under another. Also passes its
// descriptor, or any other, between processes through a Unix socket. Any thread.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/status.h"

namespace rondo {

class SharedSegment {
 public:
  struct Made;
  /// A new zero-filled segment, mapped here, and its memfd. Untouched pages are never allocated.
  static Result<Made> make(size_t bytes);
  /// Maps a memfd received from a peer, after checking that it is sealed and has that size.
  static Result<SharedSegment> map(const Fd& memfd, size_t bytes);
  /// The same, read-only.
  static Result<SharedSegment> map_to_read(const Fd& memfd, size_t bytes);
  /// Maps the beginning of a memfd of any size.
  static Result<SharedSegment> map_part(const Fd& memfd, size_t bytes);
  SharedSegment() = default;
  SharedSegment(SharedSegment&& other) noexcept;
  SharedSegment& operator=(SharedSegment&& other) noexcept;
  ~SharedSegment();

  std::byte* data() const { return static_cast<std::byte*>(base_); }
  size_t bytes() const { return bytes_; }

 private:
  SharedSegment(void* base, size_t bytes) : base_(base), bytes_(bytes) {}
  static Result<SharedSegment> map_as(const Fd& memfd, size_t bytes, int protection);

  void* base_ = nullptr;
  size_t bytes_ = 0;
};

struct SharedSegment::Made {
  SharedSegment segment;
  Fd memfd;
};

inline constexpr size_t kMaxDescriptors = 4;  // per message

/// Sends one message with descriptors; the kernel holds its own references from then on.
Status send_descriptors(const Fd& socket, std::span<const std::byte> message,
                        std::span<const int> descriptors);

/// The same, or false if the socket is full; never blocks.
Result<bool> try_to_send_descriptors(const Fd& socket, std::span<const std::byte> message,
                                     std::span<const int> descriptors);

struct Descriptors {
  size_t bytes = 0;   // of the message; 0: the peer has closed the socket
  bool lost = false;  // its descriptors were dropped: this process is at its limit
  std::vector<Fd> attached;
};
/// Receives a message of at most message.size() bytes and its descriptors, or nothing if none has arrived;
/// never blocks.
Result<std::optional<Descriptors>> receive_descriptors(const Fd& socket, std::span<std::byte> message);

}  // namespace rondo
