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

#include "base/clock.h"

namespace rondo::verbs {

class PathHistory {
 public:
  /// The MTU that the path carried at last; 0: it carried nothing, some minutes ago at most. Empty if nothing
  /// is known.
  std::optional<uint32_t> carried(const std::string& path) {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(path);
    if (found == entries_.end()) return std::nullopt;
    const auto [mtu, at_ns] = found->second;
    return mtu != 0 || now_ns() - at_ns < kForget_ns ? std::optional(mtu) : std::nullopt;
  }
  /// Whether that is new.
  bool add(const std::string& path, uint32_t mtu) {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = entries_.try_emplace(path);
    return std::exchange(found->second, TriedPath{mtu, now_ns()}).mtu != mtu || is_new;
  }

 private:
  struct TriedPath {
    uint32_t mtu = 0;
    int64_t at_ns = 0;
  };
  static constexpr int64_t kForget_ns = 300'000'000'000;  // a peer may have been too slow to answer

  std::mutex mutex_;
  std::map<std::string, TriedPath> entries_;  // by path_text()
};

}  // namespace rondo::verbs
