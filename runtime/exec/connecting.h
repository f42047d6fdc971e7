// SPDX-License-Identifier: Apache-2.0
// Connecting: a connection that is being made on a thread of its own, because dialling a process takes until
// that process answers. Used by one thread at a time.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "transports/connection.h"

namespace rondo {

class Connecting {
 public:
  using Made = Result<std::unique_ptr<Connection>>;
  using Make = std::function<Made()>;

  Connecting() = default;
  Connecting(const Connecting&) = delete;
  Connecting& operator=(const Connecting&) = delete;
  /// Waits for `make` to end.
  ~Connecting();

  /// Starts making it, if that has not begun. Null while it is being made; otherwise the result, once.
  Made result(const Make& make);

 private:
  std::thread thread_;
  std::future<Made> made_;
};

}  // namespace rondo
