// Complaints: warnings that strangers can cause as often as they like. One of a kind is logged at once, the
// others are counted, and the count is logged when the minute is over. On the service thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "comm/poller.h"

namespace rondo {

class Complaints {
 public:
  explicit Complaints(Poller& poller) : poller_(poller) {}
  ~Complaints();

  /// Warns with `text`, unless one of its kind came within the last minute.
  void warn(const std::string& kind, const std::string& text);

 private:
  struct Kind {
    Poller::Timer timer = 0;
    std::string text;      // the latest
    int64_t unlogged = 0;  // since the last line
  };
  void summarize(const std::string& kind);
  static void log_count(const Kind& kind);

  Poller& poller_;
  std::map<std::string, Kind> kinds_;  // of the last minute
};

}  // namespace rondo
