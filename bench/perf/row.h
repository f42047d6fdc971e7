// One row of results, and what became of all of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace rondo::perf {

/// What was used besides the library.
struct Setup {
  std::string memory = "host";       // where buffers are
  std::string calls = "calls";       // how they were made: "calls" that block, "queue", "stream" or "graph"
  std::string clock = "host";        // "host", "cpu" or "events"
  int graph_launches = 0;            // of a graph of all iterations
  std::string gpu;                   // rank 0's; empty: none
  std::string driver;                // the newest version of CUDA that it knows
  std::optional<double> copy_gbs;    // rank 0's GPU, bytes read and written
  std::optional<double> handoff_ns;  // a cache line from one CPU of the ranks to another, before the table
};

/// One way of calling, out of place or in place.
struct Timing {
  double time_us = 0;
  double algbw = 0;  // GB/s, 1e9 bytes
  double busbw = 0;
  std::optional<size_t> wrong;     // nothing where results were not checked
  std::optional<double> limit_us;  // the least time that memory allows; nothing where that was not asked for
};

struct Row {
  std::string collective;
  std::string algorithm;  // "none" where there is no choice
  bool automatic = true;  // the library chose the algorithm
  std::string transport;  // between rank 0 and the others: "shm", or "local+shm" where they differ
  int ranks = 0;
  size_t bytes = 0;
  size_t count = 0;
  std::string type;
  std::string op;
  int root = -1;
  Setup setup;
  std::optional<Timing> out_of_place;
  std::optional<Timing> in_place;  // nothing where the collective has no such form
};

}  // namespace rondo::perf
