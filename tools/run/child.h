// One rank's process: how it is started, and the pipes to it. Used by the one thread of rondo-run.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <utility>
#include <vector>

namespace rondo::run {

/// What a rank's process is started with. Descriptors of -1 are inherited.
struct ChildSetup {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::string>> variables;
  int in = -1, out = -1, err = -1;
  int failure = -1;        // a failed exec writes errno there
  sigset_t signal_mask{};  // to be restored
};

/// Starts the process in a group of its own, to be killed with this one. Returns its pid, or -1 with errno.
pid_t start_child(const ChildSetup& setup);

}  // namespace rondo::run
