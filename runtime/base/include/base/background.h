// SPDX-License-Identifier: Apache-2.0
// Background: work that may block, such as dialling a process until it answers, on a thread of its own. Used
// by one thread at a time.
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <optional>
#include <thread>
#include <utility>

#include "base/quiet_thread.h"

namespace rondo {

/// `Value`: a Result.
template <typename Value>
class Background {
 public:
  Background() = default;
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  /// Waits for the work to end.
  ~Background() {
    if (thread_.joinable()) thread_.join();
  }

  /// Starts the work, if that has not begun. Empty while it is under way; otherwise its result, once.
  std::optional<Value> result(const std::function<Value()>& work) {
    if (!value_.valid()) {
      std::packaged_task<Value()> task(work);
      std::future<Value> value = task.get_future();
      auto started = try_quiet_thread("rondo-connect", std::move(task));
      if (!started.ok()) return started.status();
      thread_ = started.take();
      value_ = std::move(value);
    }
    if (value_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return std::nullopt;
    thread_.join();
    return value_.get();
  }

 private:
  std::thread thread_;
  std::future<Value> value_;
};

}  // namespace rondo
