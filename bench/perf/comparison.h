// SPDX-License-Identifier: Apache-2.0
// Compares two JSON documents of rondo-perf, or of nccl-tests, row by row. Pure functions: any thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "row.h"

namespace rondo::perf {

/// What two rows must have in common to be compared.
struct ComparedCall {
  std::string collective, type, op, memory;
  long long root = -1, ranks = 0, bytes = 0;
  auto operator<=>(const ComparedCall&) const = default;
};

struct MeasuredRow {
  ComparedCall call;
  std::optional<double> out_of_place_us, in_place_us;
  std::string state;      // "near", "far", "changed"; empty: not known
  std::string algorithm;  // empty: not known
};

/// A file's rows, and how to describe it: its version, date and processor.
struct MeasuredRun {
  std::string name, facts;
  std::vector<MeasuredRow> rows;
  std::vector<Row> plotted;  // the same, for plots
};

/// Empty, with the cause in `error`, if the text is no such document.
std::optional<MeasuredRun> measured_run(const std::string& name, const std::string& text, std::string& error);

/// A table of the rows that both have, in the order of the first, and for each collective the geometric mean
/// of the ratios; empty if they have none in common. Where a call has more than one row, those of the same
/// algorithm are compared. Rows measured in different states of the machine are listed and not counted.
std::string comparison_text(const MeasuredRun& first, const MeasuredRun& second);

}  // namespace rondo::perf
