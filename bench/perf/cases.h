// What is measured: the tables that the options ask for, and the lines of their sweeps. Pure functions: any
// thread.
#pragma once

#include <string>
#include <vector>

#include "options.h"
#include "rondo/rondo.h"
#include "row.h"

namespace rondo::perf {

// What a table of rows has in common.
struct Table {
  Collective collective;
  std::string algorithm;  // empty: the library's choice
  bool varying = false;
};

// One line of the sweep within a table, for all sizes.
struct Combination {
  int type = RONDO_FLOAT32;
  Op op = Op::Sum;
  int root = 0;
};

std::string name_of(const Table& table);

/// In the order of the table.
std::vector<Combination> combinations(const Options& options, Collective collective, int nranks);

/// A row without measurements.
Row blank_row(const Table& table, const Combination& combination, size_t count, int nranks);

}  // namespace rondo::perf
