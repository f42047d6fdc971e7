// The log: to standard error, with the level of RONDO_LOG (or NCCL's NCCL_DEBUG where that is not set). Any
// thread. spdlog writes it; its headers stay out of sight, because they cost every file that logs a second to
// compile.
#pragma once

#include <fmt/core.h>

#include <string_view>
#include <utility>

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

}  // namespace rondo
