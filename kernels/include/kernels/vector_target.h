// The instruction set that reduce() runs on: for tests, which run through all of them, and for benchmarks,
// which compare them. Programs need none of this: the best one is the default.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rondo {

/// The instruction sets that were compiled in and that this CPU has, best first, by Highway's names
/// ("AVX3", "AVX2", "SSE4").
std::vector<std::string> vector_targets();

/// Makes reduce() use that one; "" returns to the best. False where it is not among vector_targets().
/// Not while another thread is in reduce().
bool use_vector_target(std::string_view name);

}  // namespace rondo
