// SPDX-License-Identifier: Apache-2.0
// A logarithmic axis: its range, its ticks, and the position of a value on it. Pure functions: any thread.
#pragma once

#include <vector>

namespace rondo::perf {

struct Axis {
  double low = 1, high = 10;  // values at the two ends
  double from = 0, to = 1;    // their positions in the picture
  std::vector<double> ticks;  // with a label
  std::vector<double> minor;  // with a line only

  double at(double value) const;
};

/// From a power of two to a power of two, with at most `max_ticks` labels.
Axis size_axis(double least, double most, double from, double to, int max_ticks);

/// Ends at 1, 2 or 5 times a power of ten; spans at least a decade.
Axis decimal_axis(double least, double most, double from, double to);

}  // namespace rondo::perf
