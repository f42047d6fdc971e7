// SPDX-License-Identifier: Apache-2.0
// The answers to STATUS: text for people, in the order of NCCL's reports, and JSON with NCCL's keys. Pure
// functions: any thread.
#pragma once

#include <string>
#include <vector>

#include "census.h"
#include "ras/options.h"
#include "view.h"

namespace rondo {

struct RasDetail {
  bool verbose = false;       // a line for each rank
  bool summary_only = false;  // no names, processes, calls and errors
};

std::string ras_text(const RasOptions& options, const RasFindings& found, const RasDetail& detail);
std::string ras_json(const RasOptions& options, const RasFindings& found, const RasDetail& detail);

/// Sentences about what the answer does not have. `view`: of `found`.
std::vector<std::string> ras_notes(const RasView& view, const RasFindings& found, const RasDetail& detail);

}  // namespace rondo
