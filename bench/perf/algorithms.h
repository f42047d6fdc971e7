// SPDX-License-Identifier: Apache-2.0
// Decides which algorithms of a collective to run, from --algorithm and the library's list. Any thread.
#pragma once

#include <string>
#include <vector>

#include "collective.h"

namespace rondo::perf {

/// The library's names for a collective; none for those of messages, which have no algorithms.
std::vector<std::string> algorithm_names(Collective collective);

/// The names to run, with `names` for "all"; the library knows others too, and refuses what it does not know.
/// A single empty name means the library's choice: if --algorithm does not mention the collective, or is
/// "all" and the collective has no algorithms.
std::vector<std::string> chosen_algorithms(const std::vector<std::string>& words, Collective collective,
                                           const std::vector<std::string>& names);

}  // namespace rondo::perf
