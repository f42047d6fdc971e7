// Measures one row: warms up, times, checks, and brings the ranks' results together. Collective: every rank
// of the communicator calls it with the same case, on the thread that uses the communicator.
#pragma once

#include "buffer.h"
#include "call.h"
#include "check.h"
#include "options.h"
#include "row.h"

namespace rondo::perf {

/// The communicators of a rank: one for the calls that are measured, one for what the benchmark itself has to
/// say.
struct RankContext {
  const Options* options = nullptr;
  rondo_comm_t comm = nullptr;
  rondo_comm_t control = nullptr;
  rondo_stream_t stream = nullptr;
  int rank = 0;
  int nranks = 1;
  const char* algorithm = "";  // of the calls that were timed last
  size_t wrong_here = 0;       // wrong elements that this rank has seen
};

/// Buffers large enough for every row of a table.
struct Buffers {
  Buffer send;
  Buffer recv;
};

/// Times and checks the call out of place and, where there is such a form, in place. At rank 0 `row` gets the
/// results of all ranks; elsewhere this rank's.
rondo_status_t measure(RankContext& rank, Call call, Checker& checker, Buffers& buffers, Row& row);

/// `values` of every rank, in the order of the ranks.
rondo_status_t collect(const RankContext& rank, const std::vector<double>& values, std::vector<double>& all);

}  // namespace rondo::perf
