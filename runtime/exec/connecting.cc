// SPDX-License-Identifier: Apache-2.0
#include "connecting.h"

#include <chrono>

#include "base/quiet_thread.h"

namespace rondo {

Connecting::~Connecting() {
  if (thread_.joinable()) thread_.join();
}

Connecting::Made Connecting::result(const Make& make) {
  if (!made_.valid()) {
    std::packaged_task<Made()> task(make);
    std::future<Made> made = task.get_future();
    RONDO_TRY_ASSIGN(thread_, try_quiet_thread(std::move(task)));
    made_ = std::move(made);
  }
  if (made_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return Made(nullptr);
  thread_.join();
  return made_.get();
}

}  // namespace rondo
