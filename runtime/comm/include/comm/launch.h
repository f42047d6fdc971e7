// Launch: what a launcher said in the environment: torchrun's and rondo-run's variables, Open MPI's, MPICH's,
// Slurm's. Any thread, as far as getenv() goes.
#pragma once

#include <optional>
#include <string>

#include "base/status.h"

namespace rondo {

struct Launch {
  int rank = 0;
  int size = 1;
  std::optional<int> local_rank;
  std::optional<int> local_size;
  std::string master_host;     // empty: not said
  int master_port = 0;         // 0: not said
  bool agent_at_port = false;  // torchrun itself listens at master_port
  std::string job;             // a name that only this job's processes share; empty: not said
};

/// Nothing where no launcher is seen; InvalidArgument names a variable that makes no sense.
Result<std::optional<Launch>> read_launch();

/// The first host of a Slurm list such as "node[03-07,9],login1".
std::string first_slurm_host(const std::string& list);

}  // namespace rondo
