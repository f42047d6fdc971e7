// SPDX-License-Identifier: Apache-2.0
// The files of /sys, or of a folder like it, for whatever describes or reviews a host. Missing, empty or
// unreadable files read as absent; anything unusual is reported in `repairs` with its path. Paths are
// relative to the root. One thread at a time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace rondo {

class Sysfs {
 public:
  static constexpr size_t kMaxText = 254;  // characters of a value in NCCL's files

  /// SystemError if `root` is not a folder that can be read. `repairs` outlives the object.
  static Result<Sysfs> open(const std::string& root, std::vector<std::string>& repairs);

  /// What a file contains, at most a page.
  std::string contents(const std::string& path);

  /// The first line of a file, of printable characters; at most a page. Empty: there is none.
  std::string line(const std::string& path);

  /// The same, if it is no longer than kMaxText.
  std::string text(const std::string& path);

  /// The lines of a file that are a name and a number: "simd_count 912".
  std::map<std::string, int64_t> table(const std::string& path);

  /// The number that is all of this line: decimal, or hexadecimal with 0x.
  std::optional<int64_t> number(const std::string& path, int64_t min, int64_t max);

  /// What is in a folder, in natural order: mlx5_2 before mlx5_10.
  std::vector<std::string> names(const std::string& folder);

  /// Where a symbolic link leads. Empty: it is none, or does not lead to a device.
  std::string device_of(const std::string& link);

  /// The path as users see it.
  std::string shown(const std::string& path) const { return root_ + "/" + path; }

  /// Adds "ROOT/PATH: <sentence>" to the repairs.
  void repair(const std::string& path, const std::string& sentence);

 private:
  Sysfs(std::string root, std::string real_root, std::vector<std::string>& repairs)
      : root_(std::move(root)), real_root_(std::move(real_root)), repairs_(&repairs) {}

  std::string root_;
  std::string real_root_;  // without symbolic links
  std::vector<std::string>* repairs_;
};

/// Whether `a` comes before `b` if their digits are read as numbers.
bool is_naturally_before(std::string_view a, std::string_view b);

}  // namespace rondo
