// SPDX-License-Identifier: Apache-2.0
// Guarded: a call's buffer between guard bytes, at any alignment, filled with poison until first written.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

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
    const auto poisoned = [](std::byte byte) { return byte == kPoison; };
    const auto begin = memory_.begin() + static_cast<std::ptrdiff_t>(begin_);
    return std::all_of(memory_.begin(), begin, poisoned) &&
           std::all_of(begin + static_cast<std::ptrdiff_t>(bytes_), memory_.end(), poisoned);
  }

 private:
  static constexpr size_t kGuard = 64;
  size_t begin_;
  size_t bytes_;
  std::vector<std::byte> memory_;
};

}  // namespace rondo::test
