// Rows as JSON: the file that --json writes, and the lines in which ranks hand rows to the process that
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

/// What row_to_json() wrote; nothing where it is something else.
std::optional<Row> row_from_json(std::string_view line);

/// An array with one object a row.
std::string rows_to_json(const std::vector<Row>& rows);

}  // namespace rondo::perf
