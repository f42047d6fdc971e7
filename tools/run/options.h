// SPDX-License-Identifier: Apache-2.0
// The command line of rondo-run. Parsed once; constant afterwards.
#pragma once

#include <string>
#include <vector>

namespace rondo::run {

struct RunOptions {
  int ranks = 0;
  bool prefix = true;       // prefix every line of output with its rank
  bool keep_going = false;  // a rank's failure does not end the others
  bool heap = false;        // preload librondo-heap.so into the ranks
  double grace_s = 5;       // between SIGTERM and SIGKILL
  double timeout_s = 0;     // 0: none
  std::vector<std::string> command;
};

/// The result of parsing: run with the options, or print `message` (to stdout for code 0) and exit with
/// `code`.
struct ParsedRunOptions {
  bool run = false;
  RunOptions options;
  int code = 0;
  std::string message;
};

ParsedRunOptions parse_options(int argc, const char* const* argv);

}  // namespace rondo::run
