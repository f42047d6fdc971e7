// SPDX-License-Identifier: Apache-2.0
// Siege: a child process that opens connections to the given ports, sends nothing on them, and keeps
// reconnecting until it ends. Create it before the processes that provide the ports.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "process.h"

namespace rondo::test {

class Siege {
 public:
  explicit Siege(int silent);  // connections per port before the reconnecting begins
  ~Siege();
  Siege(const Siege&) = delete;
  Siege& operator=(const Siege&) = delete;

  /// Returns once the silent connections are open. May be called from any process.
  void begin(uint16_t port) const;

 private:
  std::array<int, 2> ports_{};  // pipes: to the child
  std::array<int, 2> begun_{};  // from the child
  std::optional<Process> child_;
};

}  // namespace rondo::test
