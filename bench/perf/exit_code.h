// The exit codes of rondo-perf.
#pragma once

namespace rondo::perf {

enum ExitCode {
  kAllRight = 0,
  kWrongValues = 1,
  kBadOptions = 2,
  kLibraryFailed = 3,
  kNoGpu = 77  // one was asked for; what test runners take for "skipped"
};

}  // namespace rondo::perf
