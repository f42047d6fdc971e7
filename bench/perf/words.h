// SPDX-License-Identifier: Apache-2.0
// Words of a command line: lists and numbers. Pure functions: any thread.
#pragma once

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

namespace rondo::perf {

/// The non-empty parts between commas.
inline std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (size_t start = 0; start <= list.size();) {
    const size_t end = std::min(list.find(',', start), list.size());
    if (end > start) parts.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  return parts;
}

inline std::optional<int> whole_number(const std::string& text) {
  int value = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace rondo::perf
