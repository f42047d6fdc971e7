// SPDX-License-Identifier: Apache-2.0
#include "ranks.h"

#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <stdexcept>
#include <thread>

namespace rondo::test {
namespace {

constexpr double kMax_s = 40;  // longer is a hang

/// The id, shared by all processes.
struct Board {
  std::atomic<bool> has_id = false;
  ncclUniqueId id{};
};

void be_process(const Ranks& body, Start start, Board& board) {
  if (start.rank == 0) {
    done(ncclGetUniqueId(&board.id));
    board.has_id.store(true);
  }
  while (!board.has_id.load()) sleep_ms(1);
  start.id = board.id;
  body(start);
  std::exit(0);  // as programs end, running exit handlers
}

}  // namespace

std::string run_processes(int nranks, const Ranks& body) {
  const Shared<Board> board;
  std::deque<Process> processes;
  for (int rank = 0; rank < nranks; ++rank)
    processes.emplace_back([&] { be_process(body, {rank, nranks, {}}, *board); });
  const double until = seconds_now() + kMax_s;
  std::string failures;
  for (int rank = 0; rank < nranks; ++rank) {
    const Outcome outcome = processes[static_cast<size_t>(rank)].wait(until - seconds_now());
    if (!outcome.ok && (outcome.hung || outcome.signal != SIGKILL))
      failures += "rank " + std::to_string(rank) + ": " + outcome.failure() + "\n";
  }
  return failures;
}

std::string run_threads(int nranks, const Ranks& body) {
  return run_processes(1, [&](const Start& start) {
    std::vector<std::string> failures(static_cast<size_t>(nranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < nranks; ++rank)
      threads.emplace_back([&, rank] {
        try {
          body({rank, nranks, start.id});
        } catch (const std::exception& failure) {
          failures[static_cast<size_t>(rank)] = "rank " + std::to_string(rank) + ": " + failure.what() + "\n";
        }
      });
    for (std::thread& thread : threads) thread.join();
    std::string all;
    for (const std::string& failure : failures) all += failure;
    require(all.empty(), all);
  });
}

std::string run_alone(const std::function<void()>& body) {
  return run_processes(1, [&](const Start&) { body(); });
}

Comm::Comm(const Start& start) { done(ncclCommInitRank(&comm_, start.size, start.id, start.rank)); }

Comm::~Comm() { ncclCommDestroy(comm_); }

ncclComm_t Comm::release() {
  ncclComm_t comm = comm_;
  comm_ = nullptr;
  return comm;
}

void done(ncclResult_t result, ncclComm_t comm) {
  if (result != ncclSuccess) throw std::runtime_error(std::to_string(result) + ": " + ncclGetLastError(comm));
}

void fails(ncclResult_t result, ncclResult_t expected, const std::vector<std::string>& words,
           ncclComm_t comm) {
  const std::string text = ncclGetLastError(comm);
  require(result == expected,
          "expected " + std::to_string(expected) + ", got " + std::to_string(result) + ": " + text);
  for (const std::string& word : words)
    require(text.find(word) != std::string::npos, "'" + word + "' is not in: " + text);
}

ncclResult_t settled(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  for (const double until = seconds_now() + kMax_s; state == ncclInProgress && seconds_now() < until;
       sleep_ms(1))
    done(ncclCommGetAsyncError(comm, &state), comm);
  return state;
}

void check_sum(ncclComm_t comm, int size) {
  int value = 1;
  done(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr), comm);
  require(value == size, "the sum is " + std::to_string(value) + ", not " + std::to_string(size));
}

}  // namespace rondo::test
