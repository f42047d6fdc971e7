// SPDX-License-Identifier: Apache-2.0
// Times calls between ranks that are threads of this process, by every algorithm that could carry them out.
#pragma once

#include <vector>

#include "base/status.h"
#include "calibrate/cost_fit.h"

namespace rondo::calibrate {

/// Binds the calling thread meanwhile. Takes about `seconds`, less than 200 MiB, and up to 4 CPUs.
/// SystemError if others use these CPUs all the time, or if a call failed.
Result<std::vector<MeasuredCell>> measure(double seconds);

}  // namespace rondo::calibrate
