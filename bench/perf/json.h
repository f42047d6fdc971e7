// SPDX-License-Identifier: Apache-2.0
// Rows as JSON: the file that --json writes, and the lines in which ranks send rows to the process that
// started them.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "row.h"

namespace rondo::perf {

/// One object on one line.
std::string row_to_json(const Row& row);

/// Parses the output of row_to_json(); nothing if the line is something else.
std::optional<Row> row_from_json(std::string_view line);

/// An array with one object per row.
std::string rows_to_json(const std::vector<Row>& rows);

}  // namespace rondo::perf
