// SPDX-License-Identifier: Apache-2.0
#include "axis.h"

#include <algorithm>
#include <cmath>

namespace rondo::perf {
namespace {

// The steps within a decade at which an axis may end.
constexpr double kSteps[] = {1, 2, 5};

double step_down(double value) {
  const double decade = std::pow(10, std::floor(std::log10(value)));
  double below = decade;
  for (const double step : kSteps) {
    if (step * decade <= value * (1 + 1e-9)) below = step * decade;
  }
  return below;
}

double step_up(double value) {
  const double decade = std::pow(10, std::floor(std::log10(value)));
  for (const double step : kSteps) {
    if (step * decade >= value * (1 - 1e-9)) return step * decade;
  }
  return 10 * decade;
}

}  // namespace

double Axis::at(double value) const {
  const double part = (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
  return from + part * (to - from);
}

Axis size_axis(double least, double most, double from, double to, int max_ticks) {
  int first = static_cast<int>(std::floor(std::log2(least)));
  int last = static_cast<int>(std::ceil(std::log2(most)));
  if (first == last) {  // centres a single size
    --first;
    ++last;
  }
  Axis axis{std::exp2(first), std::exp2(last), from, to, {}, {}};
  const int every = std::max(1, (last - first + max_ticks - 1) / max_ticks);
  for (int power = first; power <= last; ++power)
    ((power - first) % every == 0 ? axis.ticks : axis.minor).push_back(std::exp2(power));
  return axis;
}

Axis decimal_axis(double least, double most, double from, double to) {
  double low = step_down(least);
  double high = step_up(most);
  if (high < 10 * low) {
    low = std::min(low, std::pow(10, std::floor(std::log10(least))));
    high = std::max(high, 10 * low);
  }
  Axis axis{low, high, from, to, {}, {}};
  const bool label_steps = high / low <= 1000;  // with few decades there is room to label 2 and 5
  for (double decade = std::pow(10, std::floor(std::log10(low))); decade <= high * 1.001; decade *= 10) {
    for (int digit = 1; digit <= 9; ++digit) {
      const double value = digit * decade;
      if (value < low * 0.999 || value > high * 1.001) continue;
      const bool label = digit == 1 || (label_steps && (digit == 2 || digit == 5));
      (label ? axis.ticks : axis.minor).push_back(value);
    }
  }
  return axis;
}

}  // namespace rondo::perf
