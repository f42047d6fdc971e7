// SPDX-License-Identifier: Apache-2.0
// The NCCL_* environment variables and how Rondo treats each. Any thread.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rondo::nccl {

struct Variable {
  const char* name;
  bool read;  // false: it has no effect here
  const char* meaning;
};

std::span<const Variable> all_variables();
/// Null if it is not in the table.
const Variable* find_variable(std::string_view name);

/// The value; empty if it is not set.
std::string variable(const char* name);
/// The value as a number; `otherwise` if it is not set or not a number.
long number_variable(const char* name, long otherwise);

/// A sentence for each variable that is set but has no effect.
std::vector<std::string> variables_without_effect();

/// NCCL_ALGO in the syntax of RONDO_ALGORITHM; empty: Rondo has no equivalent.
std::string wanted_algorithm();
/// Likewise NCCL_PROTO and RONDO_PROTOCOL.
std::string wanted_protocol();

}  // namespace rondo::nccl
