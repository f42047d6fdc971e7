// SPDX-License-Identifier: Apache-2.0
// Finds where and when rondo-perf runs, for its JSON. The main thread.
#pragma once

#include "document.h"

namespace rondo::perf {

/// All but the time at the end.
RunFacts facts_at_start(int argc, const char* const* argv);

/// The time of day, as in RunFacts::end_time.
std::string time_of_day();

}  // namespace rondo::perf
