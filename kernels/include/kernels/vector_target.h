// SPDX-License-Identifier: Apache-2.0
// The instruction set of the kernels. The default is the best one; tests, which cover all of them, and
// benchmarks, which compare them, select others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace rondo {

/// The instruction sets that are compiled in and supported by this CPU, best first, by Highway's names
/// ("AVX3", "AVX2", "SSE4").
std::vector<std::string> vector_targets();

/// Asks the CPU what it supports, which takes a virtual machine up to 0.1 ms. Otherwise the first call of a
/// kernel does.
void find_vector_target();

/// Makes reduce() use `name`; "" restores the best. False if it is not among vector_targets(). Must not run
/// concurrently with reduce().
bool use_vector_target(std::string_view name);

}  // namespace rondo
