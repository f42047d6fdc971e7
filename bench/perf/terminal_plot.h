// SPDX-License-Identifier: Apache-2.0
// Plots results as plain text, for a terminal. Pure function but for terminal_columns(): any thread.
#pragma once

#include <string>
#include <vector>

#include "row.h"

namespace rondo::perf {

/// Bus bandwidth and time by size, out of place, in lines of at most `columns` characters that begin with
/// '#'; beside each other if there is room. Empty if there is nothing to draw.
std::string terminal_plot(const std::vector<Row>& rows, int columns);

/// Of the terminal that stdout is, within limits; 80 if it is none.
int terminal_columns();

}  // namespace rondo::perf
