// SPDX-License-Identifier: Apache-2.0
// The log: to standard error or the file of RONDO_LOG_FILE, at the level of RONDO_LOG (or, if that is not
// set, NCCL_DEBUG). Any thread. It is written by spdlog, whose headers are hidden here because they cost
// every file that includes them a second to compile.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

#include "base/status.h"

namespace rondo {

enum class LogLevel { Debug, Info, Warn };

class Log {
 public:
  template <typename... Args>
  void debug(fmt::format_string<Args...> format, Args&&... args) const {
    if (enabled(LogLevel::Debug)) write(LogLevel::Debug, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void info(fmt::format_string<Args...> format, Args&&... args) const {
    if (enabled(LogLevel::Info)) write(LogLevel::Info, fmt::format(format, std::forward<Args>(args)...));
  }
  template <typename... Args>
  void warn(fmt::format_string<Args...> format, Args&&... args) const {
    if (enabled(LogLevel::Warn)) write(LogLevel::Warn, fmt::format(format, std::forward<Args>(args)...));
  }

 private:
  static bool enabled(LogLevel level);
  static void write(LogLevel level, std::string_view text);
};

/// The process's log.
inline Log log() { return {}; }

/// Re-reads where the log goes from the environment; InvalidArgument if RONDO_LOG_FILE has unknown marks.
Status read_log_file();

/// Re-reads the level from the environment; InvalidArgument if RONDO_LOG is not a level. Until the first
/// call, and after an error, the log shows at least warnings.
Status read_log_level();

/// Whether the log shows info() messages.
bool log_shows_info();

}  // namespace rondo
