// SPDX-License-Identifier: Apache-2.0
// ByteWriter and ByteReader: serialization of control messages, little-endian as every supported machine is.
// A reader never runs past its end: after a failed read ok() is false and every value 0. One thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

namespace rondo {

class ByteWriter {
 public:
  template <typename T>
  requires std::is_trivially_copyable_v<T> ByteWriter& put(const T& value) {
    const auto* raw = reinterpret_cast<const std::byte*>(&value);
    bytes_.insert(bytes_.end(), raw, raw + sizeof value);
    return *this;
  }
  ByteWriter& put_text(const std::string& text) {
    put(static_cast<uint32_t>(text.size()));
    const auto* raw = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), raw, raw + text.size());
    return *this;
  }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <typename T>
  requires std::is_trivially_copyable_v<T> T get() {
    T value{};
    if (!take(sizeof value)) return value;
    std::memcpy(&value, left_.data() - sizeof value, sizeof value);
    return value;
  }
  std::string get_text() {
    const auto length = get<uint32_t>();
    if (!take(length)) return {};
    return std::string(reinterpret_cast<const char*>(left_.data() - length), length);
  }
  bool ok() const { return ok_; }
  /// For a caller that has read a value which is not allowed.
  void fail() { ok_ = false; }

 private:
  bool take(size_t bytes) {
    ok_ = ok_ && bytes <= left_.size();
    if (ok_) left_ = left_.subspan(bytes);
    return ok_;
  }
  std::span<const std::byte> left_;
  bool ok_ = true;
};

}  // namespace rondo
