// What the environment tells a rank: who it is and where to meet the others. Any thread.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace rondo::run {

/// What the ranks of one run share.
struct Job {
  int ranks = 1;
  int port = 0;
  std::string secret;
};

/// A TCP port on which nobody listens now; 0 where there is none.
int free_port();

/// 32 random bytes in hexadecimal; empty where the system has none to give.
std::string random_secret();

/// The variables to set for a rank.
std::vector<std::pair<std::string, std::string>> rank_variables(const Job& job, int rank);

}  // namespace rondo::run
