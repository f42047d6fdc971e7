// SPDX-License-Identifier: Apache-2.0
// SimulatedWire: what carries the simulator's messages. Knows which messages are under way and when the next
// one has been sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/status.h"
#include "schedule/simulator.h"

namespace rondo {

/// The time of what does not happen.
inline constexpr double kNoEvent = std::numeric_limits<double>::infinity();

struct SimulatedMessage {
  size_t from = 0;
  size_t to = 0;
  uint16_t port = 0;
  double bytes = 0;
  size_t lane = 0;  // of the sender, as step is
  size_t step = 0;
  int tile = 0;
  double begins = 0;  // set when it starts
};

class SimulatedWire {
 public:
  virtual ~SimulatedWire() = default;
  /// Queues a message behind the earlier ones of its connection.
  virtual Status queue(const SimulatedMessage& message) = 0;
  /// Starts all messages that can start now.
  virtual void start(double now) = 0;
  /// When the next message will have been sent, if no other starts before; kNoEvent: none is under way.
  virtual double next_end() const = 0;
  /// Removes the messages that have been sent by `now`, which is next_end(), and returns them.
  virtual std::vector<SimulatedMessage> end(double now) = 0;
};

/// Of a network of ports, or of links.
std::unique_ptr<SimulatedWire> make_wire(size_t nranks, const SimulatedNetwork& network);

}  // namespace rondo
