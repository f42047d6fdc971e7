// SPDX-License-Identifier: Apache-2.0
// One row of results, and the setup that all rows share.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "iterations.h"

namespace rondo::perf {

/// The conditions of a measurement.
struct Setup {
  std::string memory = "host";       // where buffers are
  std::string calls = "calls";       // how they were made: "calls" that block, "queue", "stream" or "graph"
  std::string clock = "host";        // "host", "cpu" or "events"
  int graph_launches = 0;            // of a graph of all iterations
  std::string gpu;                   // rank 0's; empty: none
  std::string driver;                // the newest CUDA version that it supports
  std::optional<double> copy_gbs;    // copy rate of rank 0's GPU, bytes read plus written
  std::optional<double> handoff_ns;  // of a cache line between two of the ranks' CPUs, before the table
  bool fresh = false;                // inputs were written anew before each iteration
  std::optional<double> clock_read_ns;  // of the clock that iterations are timed by; nothing without -I
};

/// One form of the call, out of place or in place.
struct Timing {
  double time_us = 0;
  double algbw = 0;  // GB/s, 1e9 bytes
  double busbw = 0;
  std::optional<size_t> wrong;               // nothing if results were not checked
  std::optional<double> limit_us;            // the lower bound set by memory; nothing if not requested
  std::optional<IterationTimes> iterations;  // nothing without -I
};

struct Row {
  std::string run;  // the file that it is from, if runs are compared
  std::string collective;
  std::string algorithm;  // "none" if there is no choice
  bool automatic = true;  // the library chose the algorithm
  std::string transport;  // between rank 0 and the others: "shm", or "local+shm" if they differ
  int ranks = 0;
  size_t bytes = 0;
  size_t count = 0;
  std::string type;
  std::string op;
  int root = -1;
  Setup setup;
  std::optional<Timing> out_of_place;
  std::optional<Timing> in_place;          // nothing if the collective has no such form
  std::optional<double> handoff_after_ns;  // as in Setup, after the table; nothing if it did not end
};

/// What is known after the last row of a table.
struct TableEnd {
  std::optional<double> handoff_ns;
};

/// Takes the results at rank 0, or in the process that started the ranks.
struct RowReceiver {
  std::function<void(const Row&)> row;
  std::function<void(const TableEnd&)> table_end;
};

}  // namespace rondo::perf
