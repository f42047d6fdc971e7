// SPDX-License-Identifier: Apache-2.0
// Logger: human-readable output: the banner, failures, variables without effect. NCCL_DEBUG and
// NCCL_DEBUG_FILE control it as in NCCL. Any thread.
#pragma once

#include <string>

namespace rondo::nccl {

/// "2.29.7", as ncclGetVersion() reports it.
std::string nccl_version_text();
/// "Rondo X.Y.Z as libnccl.so.2 (NCCL 2.29.7 ABI)"
std::string product_text();

class Logger {
 public:
  enum class Level { None, Version, Warn, Info };

  /// Called on every entry to the library: writes the banner and the warnings once per process.
  static void open();
  static bool shows(Level level);
  static void warn(const std::string& text);
  static void info(const std::string& text);
  /// Reads NCCL_DEBUG again.
  static void reopen();
};

}  // namespace rondo::nccl
