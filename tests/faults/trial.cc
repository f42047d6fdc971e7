// SPDX-License-Identifier: Apache-2.0
#include "trial.h"

#include <rondo/rondo.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>

namespace rondo::test {
namespace {

void nap_us(long microseconds) {
  const timespec nap{microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
  ::nanosleep(&nap, nullptr);
}

/// The lines of the kernel's list of Unix sockets that contain Rondo's names.
std::vector<std::string> rondo_sockets() {
  std::vector<std::string> found;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);)
    if (line.find("@rondo-") != std::string::npos) found.push_back(line);
  return found;
}

/// The name on which this process listens, found by the inode of its socket.
std::string own_socket_name() {
  for (const std::string& line : rondo_sockets()) {
    std::istringstream fields(line);
    std::string inode;
    for (int field = 0; field < 7; ++field) fields >> inode;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      if (std::filesystem::read_symlink(entry, gone) == "socket:[" + inode + "]")
        return line.substr(line.find('@'));
    }
  }
  return {};
}

/// One round of calls; `wrong` is set if RONDO_OK came with wrong data.
rondo_status_t round_of_calls(rondo_comm_t comm, int rank, int size, int round, bool& wrong) {
  std::vector<float> mine(static_cast<size_t>(1 + round % 3 * 5000), static_cast<float>(rank + round));
  std::vector<float> all(mine.size());
  rondo_status_t status =
      rondo_all_reduce(mine.data(), all.data(), mine.size(), RONDO_FLOAT32, RONDO_SUM, comm, nullptr);
  if (status != RONDO_OK) return status;
  const float sum = static_cast<float>(size * (size - 1) / 2 + size * round);
  wrong = wrong || all.front() != sum || all.back() != sum;
  std::vector<int> roots(static_cast<size_t>(1 + round % 4 * 60'000), rank == round % size ? round : -1);
  status =
      rondo_broadcast(roots.data(), roots.data(), roots.size(), RONDO_INT32, round % size, comm, nullptr);
  if (status != RONDO_OK) return status;
  wrong = wrong || roots.front() != round || roots.back() != round;
  std::vector<int> blocks(static_cast<size_t>(size), rank);
  std::vector<int> others(blocks.size(), -1);
  status = rondo_all_to_all(blocks.data(), others.data(), 1, RONDO_INT32, comm, nullptr);
  if (status != RONDO_OK) return status;
  for (int i = 0; i < size; ++i) wrong = wrong || others[static_cast<size_t>(i)] != i;
  return RONDO_OK;
}

}  // namespace

std::string Trial::socket_left() const {
  for (const std::string& line : rondo_sockets())
    for (int rank = 0; rank < options_.nranks; ++rank)
      if (const std::string name = reports_[rank].socket_name.data();
          !name.empty() && line.find(name) != std::string::npos)
        return name;
  return {};
}

int64_t monotonic_ns() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

Trial::Trial(const TrialOptions& options) : options_(options) {
  directory_ = "/tmp/rondo-trial-XXXXXX";
  if (::mkdtemp(directory_.data()) == nullptr) std::abort();
  const auto n = static_cast<size_t>(options.nranks);
  void* shared = ::mmap(nullptr, sizeof(Report) * n + sizeof *grandchild_, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) std::abort();
  reports_ = static_cast<Report*>(shared);
  for (size_t i = 0; i < n; ++i) new (reports_ + i) Report;
  grandchild_ = new (reports_ + n) std::atomic<pid_t>(0);
  for (int rank = 0; rank < options.nranks; ++rank) {
    const pid_t pid = ::fork();
    if (pid < 0) std::abort();
    if (pid == 0) be(rank);
    pids_.push_back(pid);
  }
}

Trial::~Trial() {
  for (const pid_t pid : pids_) {
    if (pid <= 0) continue;
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
  }
  ::unlink((directory_ + "/id").c_str());
  ::rmdir(directory_.c_str());
  ::munmap(static_cast<void*>(reports_),
           sizeof(Report) * static_cast<size_t>(options_.nranks) + sizeof *grandchild_);
}

void Trial::be(int rank) {
  Report& report = reports_[rank];
  ::setenv("RONDO_INIT_TIMEOUT", std::to_string(options_.init_timeout_s).c_str(), 1);
  ::setenv("RONDO_READ_PEER", options_.read_peer ? "1" : "0", 1);
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.timeout_ms = options_.call_timeout_ms;
  config.transport = options_.transport.c_str();
  config.algorithm = options_.algorithm.c_str();
  const std::string method = "file://" + directory_ + "/id?rank=" + std::to_string(rank) +
                             "&size=" + std::to_string(options_.nranks);
  rondo_comm_t comm = nullptr;
  report.phase = static_cast<int>(Phase::Joining);
  rondo_status_t status = rondo_init(&comm, method.c_str(), &config);
  if (options_.victim_has_child && rank == options_.victim && status == RONDO_OK) {
    if (const pid_t child = ::fork(); child == 0) {
      nap_us(10'000'000);
      std::_Exit(0);
    } else {
      *grandchild_ = child;
    }
  }
  std::snprintf(report.socket_name.data(), report.socket_name.size(), "%s", own_socket_name().c_str());
  report.phase = static_cast<int>(Phase::Connecting);
  for (int round = 0; status == RONDO_OK && round < options_.calls; ++round) {
    bool wrong = false;
    status = round_of_calls(comm, rank, options_.nranks, round, wrong);
    report.wrong = report.wrong || (wrong && status == RONDO_OK);
    ++report.calls;
    if (round == 0 && status == RONDO_OK) report.phase = static_cast<int>(Phase::Calling);
  }
  if (status == RONDO_OK) {
    report.phase = static_cast<int>(Phase::Finalizing);
    status = rondo_finalize(comm);
  }
  report.failed = status != RONDO_OK;
  if (report.failed) std::snprintf(report.error.data(), report.error.size(), "%s", rondo_last_error(nullptr));
  report.ended_ns = monotonic_ns();
  rondo_destroy(comm);
  report.destroyed = true;
  report.phase = static_cast<int>(Phase::Done);
  std::_Exit(0);
}

bool Trial::wait_for(int rank, Phase phase, int64_t timeout_ms) const {
  const int64_t until = monotonic_ns() + timeout_ms * 1'000'000;
  while (reports_[rank].phase.load() < static_cast<int>(phase)) {
    if (monotonic_ns() > until) return false;
    nap_us(50);
  }
  return true;
}

bool Trial::reap(int rank, int64_t timeout_ms) {
  pid_t& pid = pids_[static_cast<size_t>(rank)];
  const int64_t until = monotonic_ns() + timeout_ms * 1'000'000;
  while (::waitpid(pid, nullptr, WNOHANG) == 0) {
    if (monotonic_ns() > until) return false;
    nap_us(500);
  }
  pid = 0;
  return true;
}

bool Trial::reap_survivors(int64_t timeout_ms) {
  bool all = true;
  for (int rank = 0; rank < options_.nranks; ++rank)
    if (rank != options_.victim) all = reap(rank, timeout_ms) && all;
  return all;
}

void Trial::end_victim() {
  pid_t& pid = pids_[static_cast<size_t>(options_.victim)];
  if (pid > 0) {
    ::kill(pid, SIGKILL);
    ::waitpid(pid, nullptr, 0);
    pid = 0;
  }
  if (const pid_t child = grandchild_->load(); child > 0) ::kill(child, SIGKILL);
}

}  // namespace rondo::test
