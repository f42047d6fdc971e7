// Journal: what is said to people: the banner, failures, variables without effect. NCCL_DEBUG and
// NCCL_DEBUG_FILE decide as they do for NCCL. Any thread.
#pragma once

#include <string>

namespace rondo::nccl {

class Journal {
 public:
  enum class Level { None, Version, Warn, Info };

  /// Called by whatever a program may call first: the banner and the warnings, once in a process.
  static void open();
  static bool shows(Level level);
  static void warn(const std::string& text);
  static void info(const std::string& text);
  /// Reads NCCL_DEBUG again.
  static void reopen();
};

}  // namespace rondo::nccl
