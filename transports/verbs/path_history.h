// SPDX-License-Identifier: Apache-2.0
// PathHistory: what came of the paths that connections of this process have tried, so that the next one
// begins with those that carry messages. Any thread.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace rondo::verbs {

class PathHistory {
 public:
  /// The MTU that the path carried at last; 0: it carried nothing. Empty if it was never tried.
  std::optional<uint32_t> carried(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto found = mtus_.find(path);
    return found != mtus_.end() ? std::optional(found->second) : std::nullopt;
  }
  /// Whether that is new.
  bool add(const std::string& path, uint32_t mtu) {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = mtus_.try_emplace(path, mtu);
    return std::exchange(found->second, mtu) != mtu || is_new;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, uint32_t> mtus_;  // by path_text()
};

}  // namespace rondo::verbs
