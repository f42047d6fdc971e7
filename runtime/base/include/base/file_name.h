// SPDX-License-Identifier: Apache-2.0
// Names of files that every process writes, with marks for what differs between processes. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/settings.h"
#include "base/status.h"

namespace rondo {

/// The marks of files that processes write, each its own.
inline constexpr std::string_view kProcessMarks = "hpr";

/// The characters that follow a % in the name; '\0' if it ends there.
std::string marks_of(std::string_view name);

/// InvalidArgument if the name has another mark than %% and those in `marks`, such as "hp". `argument`: what
/// it is the value of.
Status check_file_name(std::string_view argument, std::string_view name, std::string_view marks);

/// The value of a variable that names a file for each process, with %h, %p and %r; empty if it is not set.
/// InvalidArgument if it has other marks, or neither %p nor %r.
Result<std::string> process_file_name(Setting which);

/// The name with %h replaced by the host's name, %p by the process id, %r by `rank`, and %% by %.
std::string expanded_file_name(std::string_view name, int rank = -1);

/// This host's name; "localhost" if it has none.
std::string host_name();

}  // namespace rondo
