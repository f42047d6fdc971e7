// SPDX-License-Identifier: Apache-2.0
// Messages with descriptors over a local socket, and shared memory.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace rondo::fabric {

/// A descriptor that is closed with its owner.
class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;
  ~Descriptor();
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return fd_; }
  int release();

 private:
  int fd_;
};

/// Memory that is mapped from a descriptor until the end of its owner.
class SharedMemory {
 public:
  SharedMemory() = default;
  SharedMemory(int fd, size_t bytes);  // data() is null if it fails
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

/// New memory of zeros without a name; -1 with errno if there is none.
Descriptor make_memory(size_t bytes);

/// A connection to `path`, or a socket that listens there; -1 with errno.
Descriptor connect_to(const std::string& path);
Descriptor listen_at(const std::string& path);

/// Sends one message. False: the other end is gone.
bool send_message(int socket, const void* data, size_t bytes, const std::vector<int>& fds = {});
/// Receives one message of at most `bytes`. Returns its size, 0 if the other end is gone, -1 if none is there
/// yet.
long receive_message(int socket, void* data, size_t bytes, std::vector<Descriptor>& fds);

}  // namespace rondo::fabric
