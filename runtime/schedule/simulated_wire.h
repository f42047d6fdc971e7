// SPDX-License-Identifier: Apache-2.0
// The simulator's network: each rank sends one message at a time and receives one at a time. Owned by one
// simulation, on its thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "schedule/simulator.h"

namespace rondo {

struct SimulatedMessage {
  size_t from = 0;
  size_t to = 0;
  uint16_t port = 0;
  double bytes = 0;
};

class SimulatedWire {
 public:
  SimulatedWire(size_t nranks, const SimulatedNetwork& network)
      : network_(network), sending_(nranks), receiving_(nranks), waiting_(nranks) {}

  /// Queues a message behind all those of its sender.
  void queue(const SimulatedMessage& message);

  struct Transfer {
    SimulatedMessage message;
    double left_at = 0;  // when both ends are free again: the caller then calls finish()
    double arrives_at = 0;
  };
  /// Starts all transfers that can start now.
  std::vector<Transfer> start(double now);

  void finish(const SimulatedMessage& message);

 private:
  struct Waiting {
    SimulatedMessage message;
    uint64_t order = 0;
  };

  SimulatedNetwork network_;
  std::vector<bool> sending_;
  std::vector<bool> receiving_;
  std::vector<std::deque<Waiting>> waiting_;  // for each sender
  std::vector<size_t> ready_;                 // superset of the senders that can start a transfer
  uint64_t next_ = 0;
};

}  // namespace rondo
