// SPDX-License-Identifier: Apache-2.0
// OwnFile: a memfd of this process. Copies stand for the same file. Not thread-safe.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace rondo::heap {

/// A file of this process, by what the kernel knows it by: programs close descriptors that are not theirs,
/// and their numbers then stand for other files.
class OwnFile {
 public:
  /// Of this size, under a number that programs do not expect to be given; false if that fails.
  bool make(size_t bytes, int seals);
  bool is_made() const { return fd_ != 0; }
  /// -1 if the program has closed it.
  int descriptor() const;
  void close();

 private:
  int fd_ = 0;  // 0: none; it is never given that number
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

}  // namespace rondo::heap
