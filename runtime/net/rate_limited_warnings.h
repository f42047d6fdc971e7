// SPDX-License-Identifier: Apache-2.0
// RateLimitedWarnings: warnings that strangers can cause at any rate. The first of a kind is logged at once,
// the others are counted, and the count is logged when the minute is over. On the service thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "net/event_loop.h"

namespace rondo {

class RateLimitedWarnings {
 public:
  explicit RateLimitedWarnings(EventLoop& poller) : event_loop_(poller) {}
  ~RateLimitedWarnings();

  /// Warns with `text`, unless a warning of this kind was logged within the last minute.
  void warn(const std::string& kind, const std::string& text);

 private:
  struct Complaint {
    EventLoop::Timer timer = 0;
    std::string text;      // the latest
    int64_t unlogged = 0;  // since the last line
  };
  void summarize(const std::string& kind);
  static void log_count(const Complaint& kind);

  EventLoop& event_loop_;
  std::map<std::string, Complaint> kinds_;  // of the last minute
};

}  // namespace rondo
