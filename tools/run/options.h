// The command line of rondo-run. Read once; then constant.
#pragma once

#include <string>
#include <vector>

namespace rondo::run {

struct Options {
  int ranks = 0;
  bool prefix = true;       // every line of output begins with its rank
  bool keep_going = false;  // a rank's failure does not end the others
  double grace_s = 5;       // between SIGTERM and SIGKILL
  double timeout_s = 0;     // 0: none
  std::vector<std::string> command;
};

/// How parsing went: run with the options, or print `message` (to stdout for code 0) and exit with `code`.
struct Parsed {
  bool run = false;
  Options options;
  int code = 0;
  std::string message;
};

Parsed parse_options(int argc, const char* const* argv);

}  // namespace rondo::run
