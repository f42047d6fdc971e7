// SPDX-License-Identifier: Apache-2.0
#include "base/words.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace rondo {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

/// The binary exponent of a size suffix; -1 for anything else.
int suffix_shift(std::string_view suffix) {
  if (!suffix.empty() && lower(suffix.back()) == 'b') suffix.remove_suffix(1);
  if (!suffix.empty() && suffix.back() == 'i') suffix.remove_suffix(1);
  if (suffix.empty()) return 0;
  if (suffix.size() > 1) return -1;
  switch (lower(suffix[0])) {
    case 'k': return 10;
    case 'm': return 20;
    case 'g': return 30;
    case 't': return 40;
    default: return -1;
  }
}

template <typename Number, typename... Base>
std::optional<Number> parse_all(std::string_view text, Base... base) {
  Number value{};
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value, base...);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Edit distance: insertions, deletions, substitutions, and swaps of adjacent letters.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> before_last;
  std::vector<size_t> last(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    std::vector<size_t> row(b.size() + 1, i);
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last.back();
}

/// How far a name is from a word; the maximum if it is too far to be meant.
size_t remoteness(const std::string& word, const std::string& name) {
  constexpr size_t kTooFar = std::numeric_limits<size_t>::max();
  const size_t edits = distance(word, name);
  const size_t shorter = std::min(word.size(), name.size());
  if (edits <= std::max<size_t>(1, shorter / 3) && edits < shorter) return edits;
  const bool begins = shorter >= 3 && word.compare(0, shorter, name, 0, shorter) == 0;
  return begins ? shorter : kTooFar;  // a typo is likelier than half a name
}

}  // namespace

std::optional<size_t> parse_size(std::string_view text) {
  const size_t digits = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::string_view number = text.substr(0, digits);
  const int shift = suffix_shift(text.substr(digits));
  if (shift < 0 || number.empty() || number.front() == '.') return std::nullopt;
  if (const auto whole = parse_all<int64_t>(number)) {
    if (*whole > INT64_MAX >> shift) return std::nullopt;
    return static_cast<size_t>(*whole) << shift;
  }
  const auto fraction = parse_all<double>(number);
  if (!fraction) return std::nullopt;
  const double bytes = std::ldexp(*fraction, shift);
  constexpr double kMax = 0x1p53;  // up to here a double is exact to the byte
  if (!(bytes >= 0) || bytes > kMax || bytes != std::floor(bytes)) return std::nullopt;
  return static_cast<size_t>(bytes);
}

std::optional<int64_t> parse_integer(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string_view digits = text.substr(negative ? 1 : 0);
  const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
  if (hexadecimal) digits.remove_prefix(2);
  if (digits.starts_with('-')) return std::nullopt;
  const auto value = parse_all<int64_t>(digits, hexadecimal ? 16 : 10);
  return value && negative ? -*value : value;
}

std::optional<bool> parse_switch(std::string_view text) {
  for (const std::string_view on : {"1", "yes", "true", "on"})
    if (same_word(text, on)) return true;
  for (const std::string_view off : {"0", "no", "false", "off"})
    if (same_word(text, off)) return false;
  return std::nullopt;
}

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return lower(x) == lower(y); });
}

std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name)
    if (c != '_' && c != '-') plain += lower(c);
  return plain;
}

uint64_t hash_text(std::string_view text) {
  uint64_t hash = 14695981039346656037u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> names,
                         std::string_view prefix) {
  const std::string plain = plain_name(word);
  std::string_view best;
  size_t least = std::numeric_limits<size_t>::max();
  for (const std::string_view name : names) {
    const size_t apart = remoteness(plain, plain_name(name));
    if (apart >= least) continue;
    best = name;
    least = apart;
  }
  return best.empty() ? "" : fmt::format("; did you mean {}{}?", prefix, best);
}

}  // namespace rondo
