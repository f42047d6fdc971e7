// The NCCL_* variables: what Rondo does about each that people set. Any thread.
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
/// Null where it is not in the table.
const Variable* find_variable(std::string_view name);

/// The value; empty where it is not set.
std::string variable(const char* name);
/// The value as a number; `otherwise` where it is not set or no number.
long number_variable(const char* name, long otherwise);

/// A sentence for each variable that is set and has no effect.
std::vector<std::string> variables_without_effect();

/// What NCCL_ALGO asks for, as RONDO_ALGORITHM would say it; empty: nothing that Rondo has a name for.
std::string wanted_algorithm();
/// Likewise NCCL_PROTO and RONDO_PROTOCOL.
std::string wanted_protocol();

}  // namespace rondo::nccl
