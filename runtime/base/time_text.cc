// SPDX-License-Identifier: Apache-2.0
#include "base/time_text.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

namespace rondo {
namespace {

std::string rounded(double value) {
  return fmt::format("{:.{}f}", value, value < 10 ? 2 : value < 100 ? 1 : 0);
}

}  // namespace

std::string time_text(double seconds) {
  if (seconds < 1e-3) return rounded(seconds * 1e6) + " us";
  return seconds < 1 ? rounded(seconds * 1e3) + " ms" : rounded(seconds) + " s";
}

std::string size_text(double bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kUnits.size()) bytes /= 1024, ++unit;
  const bool is_whole = std::abs(bytes - std::round(bytes)) < 0.005;
  return fmt::format("{:.{}f} {}", bytes, is_whole ? 0 : 2, kUnits[unit]);
}

std::string parts_text(std::span<const TimePart> parts, double seconds) {
  std::string text;
  for (const TimePart& part : parts)
    text += fmt::format("  {:<13} {:<52} {:>9} {:>6.1f}%\n", part.what, part.how, time_text(part.seconds),
                        seconds > 0 ? 100 * part.seconds / seconds : 0);
  return text;
}

}  // namespace rondo
