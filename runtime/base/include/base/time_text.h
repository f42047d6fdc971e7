// SPDX-License-Identifier: Apache-2.0
// Predicted times as text for human readers: what they consist of, and their units. Pure functions: any
// thread.
#pragma once

#include <span>
#include <string>

namespace rondo {

/// A part of a predicted time.
struct TimePart {
  std::string what;  // "rounds"
  std::string how;   // "3 x 2 us"
  double seconds = 0;
};

/// A line for each part, with its share of the time in percent.
std::string parts_text(std::span<const TimePart> parts, double seconds);

/// "12.5 us", "3.42 ms"
std::string time_text(double seconds);
/// "64 MiB", "1.33 KiB"
std::string size_text(double bytes);

}  // namespace rondo
