// SPDX-License-Identifier: Apache-2.0
// Splits a rank's output into lines with a prefix. Used by rondo-run's only thread.
#pragma once

#include <string>
#include <string_view>

namespace rondo::run {

/// Collects arbitrary bytes and returns whole lines.
class LinePrefixer {
 public:
  explicit LinePrefixer(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Returns the lines that `bytes` complete, each with the prefix. Keeps what follows the last newline.
  std::string add(std::string_view bytes);

  /// Returns the remaining text without a newline as a line; empty if there is none.
  std::string finish();

 private:
  static constexpr size_t kLongest = 1u << 20;  // limits the memory that an endless line takes

  std::string prefix_;
  std::string partial_;
};

}  // namespace rondo::run
