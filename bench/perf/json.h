// SPDX-License-Identifier: Apache-2.0
// Rows as JSON: those of the document that --json writes, and the lines in which ranks send results to the
// process that started them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "row.h"

namespace rondo::perf {

/// One object on one line.
std::string row_to_json(const Row& row);

/// Parses the output of row_to_json(); nothing if the line is something else.
std::optional<Row> row_from_json(std::string_view line);

/// The line after the rows of a table.
std::string table_end_to_json(const TableEnd& end);

/// Parses the output of table_end_to_json(); nothing if the line is something else.
std::optional<TableEnd> table_end_from_json(std::string_view line);

}  // namespace rondo::perf
