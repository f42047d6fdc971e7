// SPDX-License-Identifier: Apache-2.0
// Trial: starts ranks as processes that make calls in a loop, lets the test do something to one of them, and
// reports how each of the others ended. Ranks report through memory shared with the test.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

namespace rondo::test {

/// A rank's progress; it only increases.
enum class Phase : int { Starting, Joining, Connecting, Calling, Finalizing, Done };
inline constexpr std::array kPhaseNames = {"starting", "joining",    "connecting",
                                           "calling",  "finalizing", "done"};

struct Report {
  std::atomic<int> phase{0};
  std::atomic<int64_t> ended_ns{0};  // when the failing call returned, or when all calls were done
  std::atomic<int> calls{0};
  bool failed = false;     // a call returned an error
  bool wrong = false;      // a call returned success and wrong data
  bool destroyed = false;  // rondo_destroy() returned
  std::array<char, 512> error{};
  std::array<char, 40> socket_name{};  // the abstract Unix socket name on which it listens
};

struct TrialOptions {
  int nranks = 4;
  std::string transport = "shm";
  std::string algorithm;   // empty: automatic selection
  bool read_peer = false;  // ranks read one another's memory
  int64_t call_timeout_ms = 20'000;
  int init_timeout_s = 3;
  int calls = 200;                // per rank, unless stopped by an error
  bool victim_has_child = false;  // the victim forks a child that outlives it
  int victim = 0;
};

class Trial {
 public:
  explicit Trial(const TrialOptions& options);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  const Report& report(int rank) const { return reports_[rank]; }
  Phase phase(int rank) const { return static_cast<Phase>(reports_[rank].phase.load()); }
  pid_t pid(int rank) const { return pids_[static_cast<size_t>(rank)]; }

  /// Waits until the rank has reached the phase; false after `timeout_ms`.
  bool wait_for(int rank, Phase phase, int64_t timeout_ms) const;
  /// Reaps every rank but the victim; false if one did not end in time and was killed.
  bool reap_survivors(int64_t timeout_ms);
  /// Kills and reaps the victim and its child, if any.
  void end_victim();
  /// A socket name of a rank that still exists; empty if none does.
  std::string socket_left() const;

 private:
  [[noreturn]] void be(int rank);
  bool reap(int rank, int64_t timeout_ms);

  TrialOptions options_;
  std::string directory_;
  Report* reports_;
  std::atomic<pid_t>* grandchild_;
  std::vector<pid_t> pids_;
};

int64_t monotonic_ns();

}  // namespace rondo::test
