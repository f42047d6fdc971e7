// Which algorithms of a collective to run, from what --algorithm says and what the library has. Any thread.
#pragma once

#include <string>
#include <vector>

#include "collective.h"

namespace rondo::perf {

/// The library's names for a collective; none for send_recv, which has no algorithms.
std::vector<std::string> algorithm_names(Collective collective);

/// The names to run. One empty name stands for the library's choice: where --algorithm says nothing about the
/// collective, or is "all" and the collective has no algorithms. None where it names what the collective
/// lacks.
std::vector<std::string> chosen_algorithms(const std::vector<std::string>& words, Collective collective,
                                           const std::vector<std::string>& names);

}  // namespace rondo::perf
