// SPDX-License-Identifier: Apache-2.0
// Fd: owns a file descriptor and closes it. Movable, one owner; thread rules are its owner's.
#pragma once

#include <cstddef>
#include <utility>

namespace rondo {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { close(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  void close();

 private:
  int fd_ = -1;
};

/// The number of descriptors that the process may have.
size_t max_descriptors();

/// Whether a descriptor may stay open for an optional purpose: the process uses less than half of its limit.
bool may_keep(const Fd& fd);

}  // namespace rondo
