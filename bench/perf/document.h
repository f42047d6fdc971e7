// SPDX-License-Identifier: Apache-2.0
// The document that --json writes: that of nccl-tests' -J, with what Rondo knows besides. A pure function:
// any thread.
#pragma once

#include <string>
#include <vector>

#include "options.h"
#include "row.h"

namespace rondo::perf {

/// Where, when and by what command the rows were measured.
struct RunFacts {
  std::vector<std::string> arguments;    // the command line
  std::vector<std::string> environment;  // NAME=VALUE of variables that Rondo may read, except secrets
  std::string start_time, end_time;      // local, as in 2026-11-28 09:30:00
  std::string date;                      // UTC, as in 2026-11-28T09:30:00Z
  std::string version;                   // Rondo's
  std::string processor, kernel, host;
  std::string governor;  // of the clock rate of CPUs; empty: not known here
  int cpus = 0;          // that this process may use
  double load = 0;       // average number of running processes in the minute before
};

std::string document_json(const PerfOptions& options, const RunFacts& facts, const std::vector<Row>& rows);

}  // namespace rondo::perf
