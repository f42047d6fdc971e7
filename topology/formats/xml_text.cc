// SPDX-License-Identifier: Apache-2.0
#include "xml_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace rondo {
namespace {

constexpr uint64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

bool is_control(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

/// The bytes that the UTF-8 character at the start of `text` has; 0: there is none.
size_t utf8_character(std::string_view text) {
  const auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  const size_t length = first >= 0xf5 ? 0 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc2 ? 2 : 0;
  if (length == 0 || text.size() < length) return 0;
  for (size_t i = 1; i != length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  const auto second = static_cast<unsigned char>(text[1]);
  const bool outside = (first == 0xc2 && second < 0xa0) ||  // C1 control characters
                       (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
                       (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
  return outside ? 0 : length;
}

}  // namespace

bool is_plain_text(std::string_view text) {
  while (!text.empty()) {
    const size_t length = is_control(text[0]) ? 0 : utf8_character(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string shown(std::string_view text) {
  std::string result(text.substr(0, 64));
  std::ranges::replace_if(
      result, [](char c) { return is_control(c) || static_cast<unsigned char>(c) >= 0x80; }, '?');
  return text.size() > 64 ? result + "..." : result;
}

std::string escaped(std::string_view value) {
  std::string result;
  result.reserve(value.size());
  for (const char c : value) {
    switch (c) {
      case '&': result += "&amp;"; break;
      case '<': result += "&lt;"; break;
      case '>': result += "&gt;"; break;
      case '"': result += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(c) < 0x20)
          result += fmt::format("&#{};", static_cast<int>(c));
        else
          result += c;
    }
  }
  return result;
}

std::optional<int64_t> whole_number(std::string_view text) {
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const bool hexadecimal = text.starts_with("0x") || text.starts_with("0X");
  if (hexadecimal) text.remove_prefix(2);
  uint64_t magnitude = 0;
  const char* const end = text.data() + text.size();
  const auto [last, problem] = std::from_chars(text.data(), end, magnitude, hexadecimal ? 16 : 10);
  if (problem != std::errc() || last != end || magnitude > kMaxInt64) return std::nullopt;
  return static_cast<int64_t>(magnitude) * (negative ? -1 : 1);
}

}  // namespace rondo
