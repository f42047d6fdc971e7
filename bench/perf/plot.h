// SPDX-License-Identifier: Apache-2.0
// Plots results: bus bandwidth and time by message size, both on logarithmic axes, one line for each
// collective, rank count and algorithm. Pure function: any thread.
#pragma once

#include <string>
#include <vector>

#include "row.h"

namespace rondo::perf {

/// Returns an SVG document of the out-of-place times.
std::string plot_svg(const std::vector<Row>& rows);

}  // namespace rondo::perf
