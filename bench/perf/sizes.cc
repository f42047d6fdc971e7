#include "sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace rondo::perf {
namespace {

// The power of two that a suffix stands for; -1 for anything else.
int suffix_shift(std::string_view suffix) {
  if (!suffix.empty() && (suffix.back() == 'B' || suffix.back() == 'b')) suffix.remove_suffix(1);
  if (!suffix.empty() && (suffix.back() == 'i')) suffix.remove_suffix(1);
  if (suffix.empty()) return 0;
  if (suffix.size() > 1) return -1;
  switch (suffix[0]) {
    case 'k':
    case 'K': return 10;
    case 'm':
    case 'M': return 20;
    case 'g':
    case 'G': return 30;
    case 't':
    case 'T': return 40;
    default: return -1;
  }
}

}  // namespace

std::optional<size_t> parse_size(std::string_view text) {
  const std::string copy(text);
  if (copy.empty() || copy.find_first_not_of("0123456789.") == 0) return std::nullopt;
  const size_t digits = std::min(copy.find_first_not_of("0123456789."), copy.size());
  const std::string number = copy.substr(0, digits);
  char* end = nullptr;
  const double value = std::strtod(number.c_str(), &end);
  const int shift = suffix_shift(std::string_view(copy).substr(digits));
  if (*end != '\0' || shift < 0) return std::nullopt;
  const double bytes = std::ldexp(value, shift);
  constexpr double kMost = 0x1p53;  // a double still counts single bytes
  if (!(bytes >= 0) || bytes > kMost || bytes != std::floor(bytes)) return std::nullopt;
  return static_cast<size_t>(bytes);
}

std::string format_size(double bytes) {
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return bytes == std::floor(bytes) ? fmt::format("{:.0f} {}", bytes, units[unit])
                                    : fmt::format("{:.1f} {}", bytes, units[unit]);
}

std::vector<size_t> sweep_sizes(const Sweep& sweep) {
  std::vector<size_t> sizes;
  for (size_t bytes = sweep.min_bytes; bytes <= sweep.max_bytes;) {
    sizes.push_back(bytes);
    size_t next = bytes + sweep.step_bytes;
    if (sweep.factor > 1) {
      next = static_cast<size_t>(static_cast<double>(bytes) * sweep.factor);
      next = std::max(next, bytes + 1);  // 0, and factors too small to move a small size
    }
    if (next <= bytes) break;  // a step of 0, or past the largest number
    bytes = next;
  }
  return sizes;
}

}  // namespace rondo::perf
