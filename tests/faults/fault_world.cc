// SPDX-License-Identifier: Apache-2.0
#include "fault_world.h"

#include <rondo/rondo.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

namespace rondo::test {
namespace {

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

std::string FaultWorld::socket_left() const {
  for (const std::string& line : rondo_sockets())
    for (int rank = 0; rank < options_.nranks; ++rank)
      if (const std::string name = report(rank).socket_name.data();
          !name.empty() && line.find(name) != std::string::npos)
        return name;
  return {};
}

FaultWorld::FaultWorld(const FaultOptions& options) : options_(options) {
  for (int rank = 0; rank < options.nranks; ++rank) processes_.emplace_back([&] { be(rank); });
}

void FaultWorld::be(int rank) {
  Report& report = shared_->reports[static_cast<size_t>(rank)];
  ::setenv("RONDO_INIT_TIMEOUT", std::to_string(options_.init_timeout_s).c_str(), 1);
  ::setenv("RONDO_READ_PEER", options_.read_peer ? "1" : "0", 1);
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.timeout_ms = options_.call_timeout_ms;
  config.transport = options_.transport.c_str();
  ::setenv("RONDO_STANDIN_VERBS", folder_.path().c_str(), 1);  // where ranks meet, if it is verbs
  config.algorithm = options_.algorithm.c_str();
  const std::string method = "file://" + folder_.path() + "/id?rank=" + std::to_string(rank) +
                             "&size=" + std::to_string(options_.nranks);
  rondo_comm_t comm = nullptr;
  report.phase = static_cast<int>(Phase::Joining);
  rondo_status_t status = rondo_init(&comm, method.c_str(), &config);
  if (options_.victim_has_child && rank == options_.victim && status == RONDO_OK) {
    if (const pid_t child = ::fork(); child == 0) {
      sleep_ms(10'000);
      std::_Exit(0);
    } else {
      shared_->grandchild = child;
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
  report.ended_s = seconds_now();
  rondo_destroy(comm);
  report.destroyed = true;
  report.phase = static_cast<int>(Phase::Done);
}

bool FaultWorld::wait_for(int rank, Phase phase, double limit_s) const {
  for (const double until = seconds_now() + limit_s; this->phase(rank) < phase; sleep_us(50))
    if (seconds_now() > until) return false;
  return true;
}

bool FaultWorld::reap_survivors(double limit_s) {
  bool all = true;
  for (int rank = 0; rank < options_.nranks; ++rank)
    if (rank != options_.victim) all = processes_[static_cast<size_t>(rank)].wait(limit_s).ok && all;
  return all;
}

void FaultWorld::end_victim() {
  processes_[static_cast<size_t>(options_.victim)].wait(0);
  if (const pid_t child = shared_->grandchild; child > 0) ::kill(child, SIGKILL);
}

}  // namespace rondo::test
