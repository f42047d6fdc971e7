// SPDX-License-Identifier: Apache-2.0
// World: runs a piece of code as the ranks of a communicator, in processes or threads, and collects the
// outcome of each.
//
//     expect_success(run_world({.nranks = 4, .transport = "shm"}, [](Rank& rank) {
//       check(rondo_barrier(rank.comm, nullptr), rank.comm);
//     }));
//
// Bodies report failures by require() and check(), which throw; the parent waits at most `timeout_s`.
#pragma once

#include <rondo/rondo.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "process.h"

namespace rondo::test {

/// Memory that calls use instead of host memory.
struct ForeignMemory {
  std::function<std::shared_ptr<std::byte>(size_t bytes)> allocate;  // aligned to 256 bytes; throws
  std::function<void(void* to, const void* from, size_t bytes)> copy;
};

struct WorldOptions {
  int nranks = 2;
  std::string transport = {};             // empty: automatic
  std::string algorithm = {};             // as RONDO_ALGORITHM
  std::vector<std::string> devices = {};  // cyclic by rank, as RONDO_DEVICE; empty: automatic
  bool threads = false;                   // ranks are threads of one process instead of separate processes
  int ranks_each = 1;                     // ranks per process, each a thread; ignored if `threads`
  int timeout_s = 60;                     // longer counts as a hang; tripled under a sanitizer
  int64_t call_timeout_ms = 30'000;
  std::vector<std::pair<std::string, std::string>> environment = {};  // of the ranks (processes only)
};

struct Rank {
  rondo_comm_t comm = nullptr;
  int rank = 0;
  int size = 1;
  const ForeignMemory* memory = nullptr;  // null: host memory
};

using Body = std::function<void(Rank&)>;

/// Each rank joins, runs the body and destroys its communicator (also after a failure, which must work as
/// well). Returns an outcome per process, or per thread if there is only one process.
std::vector<Outcome> run_world(const WorldOptions& options, const Body& body);

/// One Catch assertion over all outcomes, with the errors of all ranks as its message.
void expect_success(const std::vector<Outcome>& outcomes);

/// Waits, without a call, until as many ranks as there are have come here, `arrived` of them so far (Shared
/// between processes). From then on a rank may end: all have left the calls before.
void await_all(const Rank& rank, std::atomic<int>& arrived);

/// The name of the algorithm by which the rank's latest call went.
std::string last_algorithm(const Rank& rank);

/// Throws rondo_last_error() unless the status is RONDO_OK.
void check(rondo_status_t status, rondo_comm_t comm = nullptr);
/// Throws unless the status is `expected` and the last error contains every one of `words`.
void check_fails(rondo_status_t status, rondo_status_t expected, const std::vector<std::string>& words,
                 rondo_comm_t comm = nullptr);

}  // namespace rondo::test
