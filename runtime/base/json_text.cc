// SPDX-License-Identifier: Apache-2.0
#include "base/json_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace rondo {
namespace {

/// The bytes of the character that the text begins with, of two and more; 0 if it is not UTF-8.
size_t long_character(std::string_view text) {
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(text[at]); };
  const size_t bytes = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < bytes) return 0;
  for (size_t at = 1; at < bytes; ++at)
    if ((byte(at) & 0xc0) != 0x80) return 0;
  // Longer than needed, a surrogate, or beyond U+10FFFF.
  const bool is_invalid = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xed && byte(1) >= 0xa0) ||
                          (byte(0) == 0xf0 && byte(1) < 0x90) || (byte(0) == 0xf4 && byte(1) >= 0x90);
  return is_invalid ? 0 : bytes;
}

/// The escape of what the text begins with, if it is a control character or not UTF-8; otherwise empty.
/// `bytes`: of the character.
std::string escape_of(std::string_view text, size_t& bytes) {
  const auto first = static_cast<uint8_t>(text[0]);
  bytes = first < 0x80 ? 1 : long_character(text);
  if (std::exchange(bytes, std::max<size_t>(1, bytes)) == 0) return "\\ufffd";
  return first < 0x20 || first == 0x7f ? fmt::format("\\u{:04x}", first) : std::string();
}

}  // namespace

std::string in_one_line(std::string_view text) {
  std::string line;
  for (size_t bytes = 0; !text.empty(); text.remove_prefix(bytes)) {
    const std::string escape = escape_of(text, bytes);
    line += escape.empty() ? text.substr(0, bytes) : escape;
  }
  return line;
}

std::string json_string(std::string_view text) {
  std::string quoted = "\"";
  for (size_t bytes = 0; !text.empty(); text.remove_prefix(bytes)) {
    const std::string escape = escape_of(text, bytes);
    if (escape.empty() && (text[0] == '"' || text[0] == '\\')) quoted += '\\';
    quoted += escape.empty() ? text.substr(0, bytes) : escape;
  }
  return quoted + '"';
}

}  // namespace rondo
