// SPDX-License-Identifier: Apache-2.0
// FaultWorld: starts ranks as processes that make calls in a loop, lets the test do something to one of them,
// and reports how each of the others ended. Ranks report through memory shared with the test.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <string>

#include "clock.h"
#include "folder.h"
#include "process.h"

namespace rondo::test {

/// A rank's progress; it only increases.
enum class Phase : int { Starting, Joining, Connecting, Calling, Finalizing, Done };
inline constexpr std::array kPhaseNames = {"starting", "joining",    "connecting",
                                           "calling",  "finalizing", "done"};

struct Report {
  std::atomic<int> phase{0};
  std::atomic<double> ended_s{0};  // when the failing call returned, or when all calls were done
  std::atomic<int> calls{0};
  bool failed = false;     // a call returned an error
  bool wrong = false;      // a call returned success and wrong data
  bool destroyed = false;  // rondo_destroy() returned
  std::array<char, 512> error{};
  std::array<char, 40> socket_name{};  // the abstract Unix socket name on which it listens
};

struct FaultOptions {
  int nranks = 4;  // at most 8
  std::string transport = "shm";
  std::string algorithm;   // empty: automatic selection
  bool read_peer = false;  // ranks read one another's memory
  int64_t call_timeout_ms = 20'000;
  int init_timeout_s = 3;
  int calls = 200;                // per rank, unless stopped by an error
  bool victim_has_child = false;  // the victim forks a child that outlives it
  int victim = 0;
};

class FaultWorld {
 public:
  explicit FaultWorld(const FaultOptions& options);

  const Report& report(int rank) const { return shared_->reports[static_cast<size_t>(rank)]; }
  Phase phase(int rank) const { return static_cast<Phase>(report(rank).phase.load()); }
  pid_t pid(int rank) const { return processes_[static_cast<size_t>(rank)].pid(); }

  /// Waits until the rank has reached the phase; false after `limit_s`.
  bool wait_for(int rank, Phase phase, double limit_s) const;
  /// Reaps every rank but the victim; false if one died or did not end in time and was killed.
  bool reap_survivors(double limit_s);
  /// Kills and reaps the victim and its child, if any.
  void end_victim();
  /// A socket name of a rank that still exists; empty if none does.
  std::string socket_left() const;

 private:
  struct Board {
    std::array<Report, 8> reports;
    std::atomic<pid_t> grandchild{0};
  };
  void be(int rank);

  FaultOptions options_;
  Folder folder_;
  Shared<Board> shared_;
  std::deque<Process> processes_;
};

}  // namespace rondo::test
