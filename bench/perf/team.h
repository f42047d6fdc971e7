// SPDX-License-Identifier: Apache-2.0
// The ranks that one thread of rondo-perf drives: one, or, with -g, several that make their calls in groups.
// Used by that thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/stream.h"
#include "graph_meeting.h"
#include "options.h"
#include "rondo/rondo.h"

namespace rondo::perf {

/// What the benchmark knows about a rank of any process.
struct Who {
  int32_t pid = 0;
  int32_t cpu = -1;     // on which it ran when it filled this in
  int32_t device = -1;  // in its process's numbering; -1: none
  char host[64] = "";
  char space[16] = "";  // where its buffers are
  char gpu[64] = "";    // the GPU's name
  std::byte uuid[16] = {};
};

/// A rank of this thread.
struct TeamRank {
  int rank = 0;
  rondo_comm_t comm = nullptr;      // for the measured calls
  rondo_comm_t joined = nullptr;    // of all ranks, for every table; null: the team's control
  rondo_stream_t stream = nullptr;  // for the calls: null, a queue or a CUDA stream
  int device = -1;
  gpu::OwnedStream cuda_stream;
  gpu::Stopwatch stopwatch;
};

struct Team {
  const PerfOptions* options = nullptr;
  rondo_comm_t control = nullptr;  // for the benchmark's own messages: one rank per thread
  int thread = 0;                  // this thread's rank in control
  int nthreads = 1;
  int nranks = 1;
  std::vector<TeamRank> members;
  GraphMeeting* graphs = nullptr;  // shared with the other threads of the process
  std::vector<Who> roster;         // by rank
  std::vector<double> copy_rates;  // by rank: of its GPU, bytes per microsecond; empty if not requested
  const char* algorithm = "";      // of the calls that were timed last
  size_t wrong_here = 0;           // wrong elements that this thread has seen

  bool prints() const { return thread == 0; }
};

/// Runs body(member) for all members, on a thread each if there are several: for operations that ranks must
/// perform concurrently but cannot perform in a group.
rondo_status_t together(Team& team, const std::function<rondo_status_t(TeamRank&)>& body);

/// Gathers the `values` of every thread, in thread order.
rondo_status_t collect(const Team& team, const std::vector<double>& values, std::vector<double>& all);

/// Waits until all calls made so far are complete.
rondo_status_t wait_for(const Team& team);

}  // namespace rondo::perf
