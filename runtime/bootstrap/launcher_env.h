// SPDX-License-Identifier: Apache-2.0
// Reads the environment that a launcher has set. Any thread, within the limits of getenv().
#pragma once

#include <optional>
#include <string>

#include "bootstrap/rendezvous.h"

namespace rondo {

/// nullopt if no launcher is detected; InvalidArgument names a variable with an invalid value.
Result<std::optional<LauncherEnv>> read_launch();

/// The first host of a Slurm list such as "node[03-07,9],login1".
std::string first_slurm_host(const std::string& list);

}  // namespace rondo
