// Results as a picture: bus bandwidth and time over message size, both on logarithmic axes, one line for each
// collective, rank count and algorithm. Pure function: any thread.
#pragma once

#include <string>
#include <vector>

#include "row.h"

namespace rondo::perf {

/// An SVG document; out-of-place times.
std::string plot_svg(const std::vector<Row>& rows);

}  // namespace rondo::perf
