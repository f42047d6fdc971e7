// SPDX-License-Identifier: Apache-2.0
// Ranks: runs a piece of code as ranks, in processes or threads, for programs that know only NCCL's
// functions. Bodies report failures by require() and done(), which throw.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "clock.h"
#include "nccl_abi.h"
#include "process.h"

namespace rondo::test {

struct Start {
  int rank = 0;
  int size = 1;
  ncclUniqueId id{};
};

using Ranks = std::function<void(const Start&)>;

/// The failures of all ranks as text; empty if there are none. A rank killed by SIGKILL has not failed.
std::string run_processes(int nranks, const Ranks& body);
/// The same with threads of one child process, not the test's own: children of a process that has used the
/// library cannot use it.
std::string run_threads(int nranks, const Ranks& body);
/// Runs `body` in a separate process.
std::string run_alone(const std::function<void()>& body);

/// Destroys the communicator at the end of the scope.
class Comm {
 public:
  Comm() = default;
  explicit Comm(const Start& start);  // by ncclCommInitRank()
  ~Comm();
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;
  ncclComm_t get() const { return comm_; }
  ncclComm_t* out() { return &comm_; }
  ncclComm_t release();

 private:
  ncclComm_t comm_ = nullptr;
};

#define REQUIRED(...) ::rondo::test::require((__VA_ARGS__), #__VA_ARGS__)
/// Throws ncclGetLastError() unless the result is ncclSuccess.
void done(ncclResult_t result, ncclComm_t comm = nullptr);
/// Throws unless the result is `expected` and the last error contains every one of `words`.
void fails(ncclResult_t result, ncclResult_t expected, const std::vector<std::string>& words,
           ncclComm_t comm = nullptr);
/// Polls ncclCommGetAsyncError() until it is no longer ncclInProgress.
ncclResult_t settled(ncclComm_t comm);

/// Sums 1 over all ranks and checks the sum.
void check_sum(ncclComm_t comm, int size);

}  // namespace rondo::test
