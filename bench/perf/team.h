// What one thread of rondo-perf drives: one rank, or, with -g, several that make their calls in groups. Used
// by that thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/owned_stream.h"
#include "gpu/stopwatch.h"
#include "graph_meeting.h"
#include "options.h"
#include "rondo/rondo.h"

namespace rondo::perf {

/// What the benchmark knows of a rank, of whichever process.
struct Who {
  int32_t pid = 0;
  int32_t cpu = -1;     // on which it said this
  int32_t device = -1;  // by its process's numbers; -1: none
  char host[64] = "";
  char space[16] = "";  // where its buffers are
  char gpu[64] = "";    // the GPU's name
  std::byte uuid[16] = {};
};

/// A rank of this thread.
struct Member {
  int rank = 0;
  rondo_comm_t comm = nullptr;      // of the calls that are measured
  rondo_comm_t joined = nullptr;    // of all ranks, whatever the table; null: the team's control
  rondo_stream_t stream = nullptr;  // where calls go: null, a queue or a CUDA stream
  int device = -1;
  gpu::OwnedStream cuda_stream;
  gpu::Stopwatch stopwatch;
};

struct Team {
  const Options* options = nullptr;
  rondo_comm_t control = nullptr;  // for what the benchmark itself has to say: one rank a thread
  int thread = 0;                  // of all threads, by control
  int nthreads = 1;
  int nranks = 1;
  std::vector<Member> members;
  GraphMeeting* graphs = nullptr;  // with the other threads of the process
  std::vector<Who> roster;         // by rank
  std::vector<double> copy_rates;  // by rank: of its GPU, bytes a microsecond; empty where not asked for
  const char* algorithm = "";      // of the calls that were timed last
  size_t wrong_here = 0;           // wrong elements that this thread has seen

  bool prints() const { return thread == 0; }
};

/// Runs body(member) for all, each on a thread of its own where there are several: for what ranks have to do
/// at the same time and may not do in a group.
rondo_status_t together(Team& team, const std::function<rondo_status_t(Member&)>& body);

/// `values` of every thread, in the order of the threads.
rondo_status_t collect(const Team& team, const std::vector<double>& values, std::vector<double>& all);

/// Waits until the calls that were made are done.
rondo_status_t wait_for(const Team& team);

}  // namespace rondo::perf
