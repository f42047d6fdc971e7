// SPDX-License-Identifier: Apache-2.0
// RasView: what processes said, put together by communicators and jobs, as NCCL's RAS reports have it. Pure
// functions: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "census.h"
#include "facts.h"

namespace rondo {

/// The states of ranks, as bits; the highest is that of the communicator.
enum class RasState : uint8_t { NoComm = 1, Running = 2, Finalize = 4, Abort = 8 };
/// What is wrong, as bits.
enum class RasTrouble : uint8_t { Mismatch = 1, Error = 2, Incomplete = 4 };

/// A rank that said what it does.
struct RasMember {
  const RasRank* rank = nullptr;
  const RasProcess* process = nullptr;

  RasState state() const;
};

/// A rank of this host of which another rank knows.
struct RasAbsent {
  int rank = 0;
  int pid = 0;
  bool has_answered = false;  // its process has, and is not in the communicator
  std::string why;
};

/// A communicator with at least one member.
struct RasComm {
  std::vector<RasMember> members;  // by rank
  std::vector<RasAbsent> absent;   // by rank
  unsigned states = 0;
  unsigned troubles = 0;
  uint32_t latest = 0;  // call of the ranks that are furthest

  const RasRank& any() const { return *members.front().rank; }
  int elsewhere() const { return any().size - static_cast<int>(members.size() + absent.size()); }
  bool has(RasTrouble trouble) const { return (troubles & static_cast<unsigned>(trouble)) != 0; }
  /// "a1ea5ce74d6cadbd-1", as rondo-ps --json has it.
  std::string id() const;
  /// "RUNNING"
  const char* state_name() const;
  /// "OK", "ERROR,MISMATCH"
  std::string trouble_names() const;
};

/// Communicators that are alike in a line of the summary.
struct RasGroup {
  std::vector<RasComm> comms;

  const RasComm& first() const { return comms.front(); }
  size_t members() const;
  /// Ranks on this host of each communicator.
  std::pair<size_t, size_t> here_range() const;
};

struct RasView {
  size_t jobs = 0;       // processes that share communicators are of one job
  size_t processes = 0;  // with communicators
  size_t ranks = 0;
  std::pair<size_t, size_t> ranks_range;  // of a process
  std::vector<RasGroup> groups;           // the largest communicators first
  size_t spread = 0;                      // communicators that have ranks on other hosts
  uint64_t omitted = 0;                   // parts in communicators of which the processes did not tell
};

/// It refers to `found`.
RasView ras_view(const RasFindings& found);

const char* state_name(RasState state);
/// "rank 3", "ranks 0 to 2, 5"; they ascend.
std::string ranks_text(const std::vector<int>& ranks);
/// "is done with all_reduce(count=100, float64, sum), call 1203 for 301.2 s"
std::string activity_text(const RasRank& rank);

}  // namespace rondo
