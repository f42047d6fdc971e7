// SPDX-License-Identifier: Apache-2.0
// The table in nccl-tests' format, line by line. Pure functions: any thread.
#pragma once

#include <string>
#include <vector>

#include "row.h"

namespace rondo::perf {

struct TableStyle {
  bool cpu_time = false;
  bool timestamps = false;
  bool limits = false;
  bool iterations = false;
};

/// The three lines above the rows.
std::string table_header(const TableStyle& style);

/// One row; `timestamp` is used if the style requests it.
std::string table_row(const Row& row, const TableStyle& style, const std::string& timestamp);

/// What the rows of a table, or of a run, add up to.
struct TableTotals {
  size_t wrong = 0;
  double mean_busbw = 0;  // over rows and forms
};
TableTotals totals_of(const std::vector<Row>& rows);

/// The two lines below the rows of one table.
std::string table_footer(const std::vector<Row>& rows);

/// A number in at most `width` characters, with two decimals if they fit.
std::string fitted(double value, int width);

}  // namespace rondo::perf
