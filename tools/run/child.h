// SPDX-License-Identifier: Apache-2.0
// Starts one rank's process with its pipes. Used by rondo-run's only thread.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace rondo::run {

/// How to start a rank's process. Descriptors that are -1 are inherited.
struct ChildSetup {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> variables;
  int in = -1, out = -1, err = -1;
  int failure = -1;        // a failed exec writes errno here
  sigset_t signal_mask{};  // restored in the child
};

/// Starts the process in its own process group; it is killed if this process dies. Returns its pid, or -1 and
/// sets errno.
pid_t start_child(const ChildSetup& setup);

}  // namespace rondo::run
