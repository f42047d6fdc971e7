// SPDX-License-Identifier: Apache-2.0
// The environment variables that tell a rank its number and where to meet the others. Any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rondo::run {

/// What the ranks of one run share.
struct JobInfo {
  int ranks = 1;
  int port = 0;
  std::string secret;
  std::string preload;  // LD_PRELOAD; empty: as it is
};

/// A TCP port that is currently free; 0 if there is none.
int free_port();

/// 32 random bytes in hexadecimal; empty if the system cannot provide them.
std::string random_secret();

/// The variables to set for a rank.
std::vector<std::pair<std::string, std::string>> rank_variables(const JobInfo& job, int rank);

}  // namespace rondo::run
