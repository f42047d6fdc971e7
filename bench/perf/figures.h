// SPDX-License-Identifier: Apache-2.0
// Rows as a table that people read: a line for each form of each row. Pure function: any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "row.h"

namespace rondo::perf {

struct FigureColumn {
  std::string title;
  bool of_point = false;  // shown beside a point of a curve
};

struct FigureLine {
  size_t row = 0;  // its index
  bool in_place = false;
  std::vector<std::string> cells;  // by column; empty: there is no such figure
};

struct FigureTable {
  std::vector<FigureColumn> columns;
  std::vector<FigureLine> lines;
  std::vector<std::pair<std::string, std::string>> shared;  // columns that are the same in all lines
};

/// Without the columns of which no row has a figure.
FigureTable figures_of(const std::vector<Row>& rows);

}  // namespace rondo::perf
