// SPDX-License-Identifier: Apache-2.0
// The exit codes of rondo-perf.
#pragma once

namespace rondo::perf {

enum ExitCode {
  kAllRight = 0,
  kWrongValues = 1,
  kBadOptions = 2,
  kLibraryFailed = 3,
  kNoGpu = 77  // a GPU was requested; test runners treat this code as "skipped"
};

}  // namespace rondo::perf
