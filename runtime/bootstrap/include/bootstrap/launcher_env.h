// SPDX-License-Identifier: Apache-2.0
// LauncherEnv: the values that a launcher set in the environment: torchrun, rondo-run, Open MPI, MPICH or
// Slurm. Any thread, within the limits of getenv().
#pragma once

#include <optional>
#include <string>

#include "base/status.h"

namespace rondo {

struct LauncherEnv {
  int rank = 0;
  int size = 1;
  std::optional<int> local_rank;
  std::optional<int> local_size;
  std::string master_host;     // empty: not given
  int master_port = 0;         // 0: not given
  bool agent_at_port = false;  // torchrun itself listens at master_port
  std::string job;             // a name that only this job's processes share; empty: not given
};

/// nullopt if no launcher is detected; InvalidArgument names a variable with an invalid value.
Result<std::optional<LauncherEnv>> read_launch();

/// The first host of a Slurm list such as "node[03-07,9],login1".
std::string first_slurm_host(const std::string& list);

}  // namespace rondo
