// SPDX-License-Identifier: Apache-2.0
// Guarded: a call's buffer between guard bytes, at any alignment, filled with poison until first written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "bytes.h"

namespace rondo::test {

class Guarded {
 public:
  static constexpr std::byte kPoison{0xa5};

  explicit Guarded(size_t bytes = 0, size_t shift = 0)
      : begin_(kGuard + shift), bytes_(bytes), memory_(begin_ + bytes + kGuard, kPoison) {}

  std::byte* data() { return memory_.data() + begin_; }
  const std::byte* data() const { return memory_.data() + begin_; }
  size_t size() const { return bytes_; }
  std::span<std::byte> bytes() { return {data(), bytes_}; }
  std::span<const std::byte> bytes() const { return {data(), bytes_}; }

  void fill(std::span<const std::byte> content, size_t offset = 0) {
    std::copy(content.begin(), content.end(), data() + offset);
  }
  /// The whole allocation, guards included.
  std::span<std::byte> memory() { return memory_; }
  bool guards_intact() const {
    const size_t end = begin_ + bytes_;
    return all_bytes_are(kPoison, memory_.data(), begin_) &&
           all_bytes_are(kPoison, memory_.data() + end, memory_.size() - end);
  }

 private:
  static constexpr size_t kGuard = 64;
  size_t begin_;
  size_t bytes_;
  std::vector<std::byte> memory_;
};

}  // namespace rondo::test
