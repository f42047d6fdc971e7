// Output of a rank, cut into lines and given a prefix. Used by the one thread of rondo-run.
#pragma once

#include <string>
#include <string_view>

namespace rondo::run {

/// Collects bytes, of any value, and gives back whole lines.
class LinePrefixer {
 public:
  explicit LinePrefixer(std::string prefix) : prefix_(std::move(prefix)) {}

  /// The lines that `bytes` complete, each with the prefix. What follows the last newline waits for more.
  std::string add(std::string_view bytes);

  /// What is left without a newline at the end, as a line; empty where nothing is.
  std::string finish();

 private:
  static constexpr size_t kLongest = 1u << 20;  // a line that never ends must not fill memory

  std::string prefix_;
  std::string partial_;
};

}  // namespace rondo::run
