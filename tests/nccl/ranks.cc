// SPDX-License-Identifier: Apache-2.0
#include "ranks.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstring>
#include <exception>
#include <stdexcept>
#include <thread>

namespace rondo::test {
namespace {

constexpr double kMax_s = 40;  // longer is a hang
constexpr size_t kMaxRanks = 16;

/// Shared by all processes: the id and the failures.
struct Board {
  std::atomic<bool> has_id;
  ncclUniqueId id;
  std::array<std::array<char, 600>, kMaxRanks> failures;
};

std::string live(const Ranks& body, const Start& start) {
  try {
    body(start);
    return {};
  } catch (const std::exception& failure) {
    return "rank " + std::to_string(start.rank) + ": " + failure.what() + "\n";
  }
}

[[noreturn]] void be_process(const Ranks& body, Start start, Board& board) {
  if (start.rank == 0) {
    if (ncclGetUniqueId(&board.id) != ncclSuccess) ::_exit(2);
    board.has_id.store(true);
  }
  while (!board.has_id.load()) nap_ms(1);
  start.id = board.id;
  const std::string failure = live(body, start);
  auto& text = board.failures[static_cast<size_t>(start.rank)];
  std::strncpy(text.data(), failure.c_str(), text.size() - 1);
  std::exit(failure.empty() ? 0 : 1);  // as programs end, running exit handlers
}

std::string reap(pid_t pid, int rank, double until, const Board& board) {
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    if (seconds_now() > until) {
      ::kill(pid, SIGKILL);
      ::waitpid(pid, &status, 0);
      return "rank " + std::to_string(rank) + " hangs\n";
    }
    nap_ms(1);
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) != SIGKILL)
    return "rank " + std::to_string(rank) + ": " + ::strsignal(WTERMSIG(status)) + "\n";
  const std::string failure = board.failures[static_cast<size_t>(rank)].data();
  if (failure.empty() && WIFEXITED(status) && WEXITSTATUS(status) != 0)
    return "rank " + std::to_string(rank) + " ended with " + std::to_string(WEXITSTATUS(status)) + "\n";
  return failure;
}

}  // namespace

std::string run_processes(int nranks, const Ranks& body) {
  void* memory = ::mmap(nullptr, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto& board = *new (memory) Board{};
  std::vector<pid_t> children;
  for (int rank = 0; rank < nranks; ++rank) {
    const pid_t pid = ::fork();
    if (pid == 0) be_process(body, {rank, nranks, {}}, board);
    children.push_back(pid);
  }
  const double until = seconds_now() + kMax_s;
  std::string failures;
  for (int rank = 0; rank < nranks; ++rank)
    failures += reap(children[static_cast<size_t>(rank)], rank, until, board);
  ::munmap(memory, sizeof(Board));
  return failures;
}

std::string run_threads(int nranks, const Ranks& body) {
  return run_processes(1, [&](const Start& start) {
    std::vector<std::string> failures(static_cast<size_t>(nranks));
    std::vector<std::thread> threads;
    for (int rank = 0; rank < nranks; ++rank)
      threads.emplace_back([&, rank] {
        failures[static_cast<size_t>(rank)] = live(body, {rank, nranks, start.id});
      });
    for (std::thread& thread : threads) thread.join();
    std::string all;
    for (const std::string& failure : failures) all += failure;
    need(all.empty(), all);
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

void need(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

void done(ncclResult_t result, ncclComm_t comm) {
  if (result != ncclSuccess) throw std::runtime_error(std::to_string(result) + ": " + ncclGetLastError(comm));
}

void fails(ncclResult_t result, ncclResult_t expected, const std::vector<std::string>& words,
           ncclComm_t comm) {
  const std::string text = ncclGetLastError(comm);
  need(result == expected,
       "expected " + std::to_string(expected) + ", got " + std::to_string(result) + ": " + text);
  for (const std::string& word : words)
    need(text.find(word) != std::string::npos, "'" + word + "' is not in: " + text);
}

ncclResult_t settled(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  for (const double until = seconds_now() + kMax_s; state == ncclInProgress && seconds_now() < until;
       nap_ms(1))
    done(ncclCommGetAsyncError(comm, &state), comm);
  return state;
}

void check_sum(ncclComm_t comm, int size) {
  int value = 1;
  done(ncclAllReduce(&value, &value, 1, ncclInt32, ncclSum, comm, nullptr), comm);
  need(value == size, "the sum is " + std::to_string(value) + ", not " + std::to_string(size));
}

double seconds_now() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

void nap_ms(long milliseconds) {
  const timespec nap{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  ::nanosleep(&nap, nullptr);
}

}  // namespace rondo::test
