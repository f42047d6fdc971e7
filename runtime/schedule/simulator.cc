// SPDX-License-Identifier: Apache-2.0
#include "schedule/simulator.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <queue>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "simulated_wire.h"
#include "structure.h"

namespace rondo {
namespace {

class Simulation {
 public:
  Simulation(const std::vector<Schedule>& ranks, double chunk_bytes, int tiles,
             const SimulatedNetwork& network, std::vector<SimulatedTransfer>* transfers)
      : ranks_(ranks),
        chunk_bytes_(chunk_bytes),
        tiles_(tiles),
        network_(network),
        transfers_(transfers),
        wire_(make_wire(ranks.size(), network)),
        lanes_(ranks.size()) {
    for (size_t rank = 0; rank < ranks.size(); ++rank) {
      for (size_t lane = 0; lane < ranks[rank].lanes.size(); ++lane) lanes_[rank].push_back({rank, lane});
      wake(rank);
    }
  }

  Result<double> run() {
    while (true) {
      while (!awake_.empty()) {
        const size_t rank = awake_.back();
        awake_.pop_back();
        advance_rank(rank);
      }
      RONDO_TRY(failure_);
      // All events of one instant are processed before the messages they enable compete for the network.
      if (next_event() > now_) wire_->start(now_);
      if (next_event() == kNoEvent) break;
      take_event();
    }
    for (const auto& lanes : lanes_)
      for (const SimulatedLane& at : lanes)
        if (!done(at))
          return error(Code::InternalError, "the schedule stops before its end: {}, tile {}, never runs",
                       place_of(ranks_[at.rank], at.lane, at.step), at.tile);
    return last_step_;
  }

 private:
  struct SimulatedLane {
    size_t rank = 0;
    size_t lane = 0;
    int tile = 0;
    size_t step = 0;
  };
  struct SimulatedLink {
    int in_use = 0;   // slots that are filled but not received yet
    int arrived = 0;  // messages that can be received
  };
  struct SimulatedArrival {
    double time = 0;
    uint64_t order = 0;
    SimulatedMessage message;
    bool operator>(const SimulatedArrival& other) const {
      return std::tie(time, order) > std::tie(other.time, other.order);
    }
  };

  const Lane& lane(const SimulatedLane& at) const { return ranks_[at.rank].lanes[at.lane]; }
  bool done(const SimulatedLane& at) const { return at.tile >= tiles_ || lane(at).steps.empty(); }
  SimulatedLink& link(size_t from, size_t to, uint16_t port) {
    return links_[(from * ranks_.size() + to) << 16 | port];
  }
  const std::vector<int>& peers(const SimulatedLane& at, uint16_t set) const {
    static const std::vector<int> none;
    return set == Step::kNone ? none : ranks_[at.rank].peer_sets[set];
  }

  static size_t index(int rank) { return static_cast<size_t>(rank); }

  void advance_rank(size_t rank) {
    for (bool moved = true; moved;) {
      moved = false;
      for (SimulatedLane& at : lanes_[rank]) {
        while (!done(at) && can_run(at)) {
          execute(at);
          moved = true;
        }
      }
    }
  }

  bool can_run(const SimulatedLane& at) {
    const Step& step = lane(at).steps[at.step];
    if (step.wait_lane != Step::kNone) {
      const SimulatedLane& other = lanes_[at.rank][step.wait_lane];
      if (step.waits(static_cast<size_t>(at.tile), static_cast<size_t>(other.tile), other.step)) return false;
    }
    for (const int peer : peers(at, step.recv_set))
      if (ranks_[at.rank].is_peer(peer) && link(index(peer), at.rank, lane(at).port).arrived == 0)
        return false;
    for (const int peer : peers(at, step.send_set))
      if (link(at.rank, index(peer), lane(at).port).in_use >= network_.slots) return false;
    return true;
  }

  void execute(SimulatedLane& at) {
    const Step& step = lane(at).steps[at.step];
    const uint16_t port = lane(at).port;
    for (const int peer : peers(at, step.recv_set)) {
      if (!ranks_[at.rank].is_peer(peer)) continue;
      SimulatedLink& from = link(index(peer), at.rank, port);
      --from.arrived;
      --from.in_use;
      wake(index(peer));
    }
    for (const int peer : peers(at, step.send_set)) {
      ++link(at.rank, index(peer), port).in_use;
      const Status queued = wire_->queue({.from = at.rank,
                                          .to = index(peer),
                                          .port = port,
                                          .bytes = step.count * chunk_bytes_,
                                          .lane = at.lane,
                                          .step = at.step,
                                          .tile = at.tile});
      if (!queued.ok()) failure_ = queued;
    }
    last_step_ = now_;
    if (++at.step == lane(at).steps.size()) {
      at.step = 0;
      ++at.tile;
    }
  }

  double next_event() const {
    return std::min(arrivals_.empty() ? kNoEvent : arrivals_.top().time, wire_->next_end());
  }

  void take_event() {
    now_ = next_event();
    if (wire_->next_end() <= now_) {
      for (const SimulatedMessage& message : wire_->end(now_)) {
        if (transfers_ != nullptr) transfers_->push_back(transfer_of(message));
        arrivals_.push({now_ + network_.latency_s, next_arrival_++, message});
      }
      return;
    }
    const SimulatedMessage message = arrivals_.top().message;
    arrivals_.pop();
    ++link(message.from, message.to, message.port).arrived;
    wake(message.to);
  }

  /// Of a message that has just left.
  SimulatedTransfer transfer_of(const SimulatedMessage& message) const {
    return {.from = static_cast<int>(message.from),
            .to = static_cast<int>(message.to),
            .port = message.port,
            .lane = static_cast<int>(message.lane),
            .step = static_cast<int>(message.step),
            .tile = message.tile,
            .bytes = message.bytes,
            .begins = message.begins,
            .ends = now_,
            .arrives = now_ + network_.latency_s};
  }

  void wake(size_t rank) { awake_.push_back(rank); }

  const std::vector<Schedule>& ranks_;
  double chunk_bytes_;
  int tiles_;
  const SimulatedNetwork& network_;
  std::vector<SimulatedTransfer>* const transfers_;
  std::unique_ptr<SimulatedWire> wire_;
  std::vector<std::vector<SimulatedLane>> lanes_;      // [rank]
  std::unordered_map<uint64_t, SimulatedLink> links_;  // by sender, receiver and port
  std::priority_queue<SimulatedArrival, std::vector<SimulatedArrival>, std::greater<>> arrivals_;
  std::vector<size_t> awake_;  // ranks whose lanes may be able to advance
  uint64_t next_arrival_ = 0;
  Status failure_;
  double now_ = 0;
  double last_step_ = 0;
};

}  // namespace

Result<double> simulate(const Shape& shape, const std::vector<Schedule>& ranks, double bytes, int tiles,
                        const SimulatedNetwork& network, std::vector<SimulatedTransfer>* transfers) {
  RONDO_TRY(check_structure(shape, ranks));
  if (!network.links.empty() && !network.route)
    return error(Code::InvalidArgument, "network.links is set, network.route is not");
  for (const double bytes_per_s : network.links)
    if (!(bytes_per_s > 0))
      return error(Code::InvalidArgument, "network.links has {} bytes per second: expected more than 0",
                   bytes_per_s);
  const int chunks = std::max(ranks.front().chunks.input, ranks.front().chunks.output);
  const bool empty = shape.kind == CollectiveKind::Barrier;
  return Simulation(ranks, empty ? 0 : bytes / chunks / tiles, tiles, network, transfers).run();
}

}  // namespace rondo
