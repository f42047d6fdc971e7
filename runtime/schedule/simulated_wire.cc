// SPDX-License-Identifier: Apache-2.0
#include "simulated_wire.h"

#include <algorithm>

namespace rondo {

void SimulatedWire::queue(const SimulatedMessage& message) {
  waiting_[message.from].push_back({message, next_++});
  ready_.push_back(message.from);
}

std::vector<SimulatedWire::Transfer> SimulatedWire::start(double now) {
  std::sort(ready_.begin(), ready_.end());
  ready_.erase(std::unique(ready_.begin(), ready_.end()), ready_.end());
  std::erase_if(ready_, [&](size_t rank) { return sending_[rank] || waiting_[rank].empty(); });
  // The longest waiting first, so that no sender is starved by others with the same destination.
  std::sort(ready_.begin(), ready_.end(),
            [&](size_t a, size_t b) { return waiting_[a].front().order < waiting_[b].front().order; });
  std::vector<Transfer> started;
  for (size_t rank : ready_) {
    const SimulatedMessage message = waiting_[rank].front().message;
    if (receiving_[message.to]) continue;
    waiting_[rank].pop_front();
    sending_[rank] = receiving_[message.to] = true;
    const double left_at = now + message.bytes / network_.bandwidth_bytes_per_s;
    started.push_back({message, left_at, left_at + network_.latency_s});
  }
  return started;
}

void SimulatedWire::finish(const SimulatedMessage& message) {
  sending_[message.from] = receiving_[message.to] = false;
  ready_.push_back(message.from);
}

}  // namespace rondo
