// SPDX-License-Identifier: Apache-2.0
// The parts of a plot as SVG, for the files of --plot that are pictures and for those that are pages. Pure
// functions: any thread.
#pragma once

#include <string>

#include "curves.h"

namespace rondo::perf {

/// For XML and HTML, in text and in quoted attributes. Characters that neither may contain are replaced.
std::string escaped(const std::string& text);

std::string text_at(double x, double y, const char* style, const std::string& text);

/// A sample of the line of a Curve::style.
std::string sample_line(size_t style, double x, double y, double length);

/// Where the frame of a panel is.
struct PanelFrame {
  double left = 0, top = 0, width = 0, height = 0;
};

/// One measure's axes and curves. Curve N is in groups with data-curve="N", and a class for its colour, c0 to
/// c6; with both forms, these have the spread of the iterations too.
std::string panel(const CurveSet& set, const CurveMeasure& measure, const PanelFrame& frame,
                  PlottedForms forms);

}  // namespace rondo::perf
