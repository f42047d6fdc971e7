// SPDX-License-Identifier: Apache-2.0
// RasCensus: asks all processes of this user on this host what their ranks do. Each listens at an abstract
// Unix name, rondo-ras-UID-PID-RANDOM, where a TextServer gives ras_bytes(). Only on the service thread,
// which it never keeps waiting.
#pragma once

#include <deque>
#include <functional>
#include <list>
#include <set>
#include <string>
#include <vector>

#include "base/fd.h"
#include "facts.h"
#include "net/event_loop.h"

namespace rondo {

/// What is known of the processes.
struct RasFindings {
  struct Silent {
    int pid = 0;  // as the kernel shows it here; 0: it is in another PID namespace
    std::string why;
  };
  std::vector<RasProcess> processes;
  std::vector<Silent> silent;
  bool all_listed = true;  // false: the names of the processes cannot be read, or are too many
  double seconds = 0;      // that it took
};

/// A name at which this process can be asked.
std::string new_ras_name();

class RasCensus {
 public:
  static constexpr size_t kMaxRanks = 1024;         // of a process
  static constexpr size_t kMaxBytes = 4 << 20;      // of what it says
  static constexpr size_t kAtOnce = 32;             // processes that are asked
  static constexpr int64_t kPatience_ms = 5000;     // with one of them
  static constexpr size_t kMaxListBytes = 8 << 20;  // of the list of all sockets

  /// `own_name`: that of this process, which is not asked. `done` is called once, later, when all have
  /// answered or have had their time; it may end the census.
  RasCensus(EventLoop& event_loop, const std::string& own_name, std::function<void()> done);
  ~RasCensus();
  RasCensus(const RasCensus&) = delete;
  RasCensus& operator=(const RasCensus&) = delete;

  /// Processes that have not answered yet count as silent.
  RasFindings findings() const;

 private:
  struct RasQuestion {
    Fd fd;
    int pid = 0;
    std::string bytes;
    EventLoop::Timer timer = 0;
  };
  using Questions = std::list<RasQuestion>;

  void list(const std::string& own_name);
  void ask_more();
  void ask(const std::string& name);
  void take(Questions::iterator question);
  void finish(Questions::iterator question, bool has_said_all, const std::string& otherwise);

  EventLoop& event_loop_;
  const int64_t began_ns_;
  const std::function<void()> done_;
  EventLoop::Timer end_ = 0;
  std::deque<std::string> names_;  // still to be asked
  Questions questions_;            // under way
  RasFindings found_;
};

}  // namespace rondo
