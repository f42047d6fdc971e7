// SharedSegment: memory that processes share, as a memfd: it has no name, so it is gone with its last user
// however that one ends. Its size is sealed, so that no process can pull memory away from under another. And
// its way, like that of every descriptor, from one process to the other through a Unix socket. Any thread.
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
  /// A new one of zeros, mapped here, and its memfd. Pages that are never used are never allocated.
  static Result<Made> make(size_t bytes);
  /// Maps a memfd that came from a peer, after checking that it is sealed and has that size.
  static Result<SharedSegment> map(const Fd& memfd, size_t bytes);
  /// The same, for reading alone.
  static Result<SharedSegment> map_to_read(const Fd& memfd, size_t bytes);
  /// Maps the beginning of a memfd, whatever its size is.
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

inline constexpr size_t kMostDescriptors = 4;  // in a message

/// One message with descriptors, which the peer's kernel keeps from then on.
Status send_descriptors(const Fd& socket, std::span<const std::byte> message,
                        std::span<const int> descriptors);

/// The same, or false where the socket has no room for it now; never blocks.
Result<bool> try_to_send_descriptors(const Fd& socket, std::span<const std::byte> message,
                                     std::span<const int> descriptors);

struct Descriptors {
  size_t bytes = 0;   // of the message; 0: the peer has left
  bool lost = false;  // descriptors that came with it were dropped: this process is at its limit
  std::vector<Fd> attached;
};
/// A message of at most message.size() bytes and what came with it, or nothing while none has arrived; never
/// blocks.
Result<std::optional<Descriptors>> receive_descriptors(const Fd& socket, std::span<std::byte> message);

}  // namespace rondo
