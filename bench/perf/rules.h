// SPDX-License-Identifier: Apache-2.0
// What the library would choose, by size, as rules that RONDO_ALGORITHM=@FILE reads. Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "collective.h"
#include "options.h"

namespace rondo::perf {

/// An error message if other options contradict --rules; else empty.
std::string check_rules(const PerfOptions& options);

struct ChoiceAtSize {
  size_t bytes = 0;
  std::string choice;  // "two_shot@connections"
};

/// The choice in rondo_explain()'s text.
std::string choice_in(std::string_view explanation);

/// "all_reduce=one_shot@shm_pull:8K,ring@connections:4M": each choice up to the last size that has it. The
/// sizes ascend. A barrier has no limit.
std::string rule_of(Collective collective, const std::vector<ChoiceAtSize>& choices);

/// Prints the text if the path is "-". Else it replaces the file at once, so that no reader sees half of it;
/// false, with the reason printed, if it cannot.
bool write_rules(const std::string& path, const std::string& text);

}  // namespace rondo::perf
