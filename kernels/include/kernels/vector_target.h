// SPDX-License-Identifier: Apache-2.0
// Selects the instruction set of reduce(): for tests, which cover all of them, and for benchmarks, which
// compare them. The default is the best one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rondo {

/// The instruction sets that are compiled in and supported by this CPU, best first, by Highway's names
/// ("AVX3", "AVX2", "SSE4").
std::vector<std::string> vector_targets();

/// Makes reduce() use `name`; "" restores the best. False if it is not among vector_targets(). Must not run
/// concurrently with reduce().
bool use_vector_target(std::string_view name);

}  // namespace rondo
