// SPDX-License-Identifier: Apache-2.0
// The page that --plot writes to a file that ends in .html: the curves of both forms, a table of the figures,
// and where, when and how they were measured. The page needs no other file and no network. Pure function: any
// thread.
#pragma once

#include <string>
#include <vector>

#include "row.h"

namespace rondo::perf {

/// A run whose rows are on the page, by its document: rondo-perf's, or nccl-tests'.
struct PageRun {
  std::string name;      // that its rows have (Row::run); empty if it is the only one
  std::string file;      // that it is from; empty if it was just measured
  std::string document;  // JSON
};

std::string page_html(const std::vector<Row>& rows, const std::vector<PageRun>& runs);

/// Whether a file of this name is written as a page.
bool is_page(const std::string& path);

}  // namespace rondo::perf
