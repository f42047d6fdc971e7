// SPDX-License-Identifier: Apache-2.0
// Rows as curves by message size, for every kind of plot: one curve for each collective, rank count,
// algorithm, type and so on. Pure functions: any thread.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "axis.h"
#include "row.h"

namespace rondo::perf {

struct CurvePoint {
  double bytes = 0, time_us = 0, busbw = 0;
  double fast_us = 0, slow_us = 0;  // fastest and 99th percentile of the iterations; 0: not known
  size_t row = 0;                   // its index
};

struct Curve {
  std::string name;
  size_t style = 0;  // a colour and a dash; runs that are compared differ in dashes alone
  std::vector<CurvePoint> out_of_place, in_place;  // by size
};

struct CurveSet {
  std::string title;  // what all rows have in common
  std::vector<Curve> curves;
};

/// Leaves out what has no place on a logarithmic axis: rows of 0 bytes, as a barrier's, and times of 0.
CurveSet curves_of(const std::vector<Row>& rows);

/// A quantity that is plotted against the message size.
struct CurveMeasure {
  const char* title;
  const char* unit;
  double (*value)(const CurvePoint&);
  double (*at_time)(const CurvePoint&, double time_us);  // the value if the call had taken that time
};
extern const CurveMeasure kBusBandwidth, kCallTime;

/// The range of the positive values that were included.
struct ValueRange {
  double least = 0, most = 0;
  bool empty() const { return least == 0; }
  void include(double value);
};

/// Whose points a plot shows.
enum class PlottedForms { OutOfPlace, Both };

struct CurveRanges {
  ValueRange sizes, values;
};
/// Both empty if there is nothing to plot.
CurveRanges ranges_of(const CurveSet& set, const CurveMeasure& measure, PlottedForms forms);

}  // namespace rondo::perf
