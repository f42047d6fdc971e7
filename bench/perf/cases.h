// SPDX-License-Identifier: Apache-2.0
// The cases to measure: the tables that the options request, and the lines of their sweeps. Pure functions:
// any thread.
#pragma once

#include <string>
#include <vector>

#include "options.h"
#include "rondo/rondo.h"
#include "row.h"

namespace rondo::perf {

// What the rows of a table have in common.
struct Table {
  Collective collective;
  std::string algorithm;  // empty: the library's choice
  bool varying = false;
};

// One combination of a table's sweep, for all sizes.
struct Combination {
  int type = RONDO_FLOAT32;
  Op op = Op::Sum;
  int root = 0;
};

std::string name_of(const Table& table);

/// The combinations in table order.
std::vector<Combination> combinations(const PerfOptions& options, Collective collective, int nranks);

/// A row without measurements.
Row blank_row(const Table& table, const Combination& combination, size_t count, int nranks);

}  // namespace rondo::perf
