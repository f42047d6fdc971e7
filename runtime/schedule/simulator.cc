// SPDX-License-Identifier: Apache-2.0
#include "schedule/simulator.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <queue>
#include <vector>

#include "structure.h"

namespace rondo {
namespace {

struct SimulatedMessage {
  size_t from = 0;
  size_t to = 0;
  uint16_t port = 0;
  double bytes = 0;
};

/// The network: each rank sends one message at a time and receives one at a time.
class SimulatedWire {
 public:
  SimulatedWire(size_t nranks, const SimulatedNetwork& network)
      : network_(network), sending_(nranks), receiving_(nranks), waiting_(nranks) {}

  /// Queues a message behind all those of its sender.
  void queue(const SimulatedMessage& message) {
    waiting_[message.from].push_back({message, next_++});
    ready_.push_back(message.from);
  }

  struct Transfer {
    SimulatedMessage message;
    double left_at = 0;  // when both ends are free again: the caller then calls finish()
    double arrives_at = 0;
  };
  /// Starts all transfers that can start now.
  std::vector<Transfer> start(double now) {
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

  void finish(const SimulatedMessage& message) {
    sending_[message.from] = receiving_[message.to] = false;
    ready_.push_back(message.from);
  }

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

class Simulation {
 public:
  Simulation(const std::vector<Schedule>& ranks, double chunk_bytes, int tiles,
             const SimulatedNetwork& network)
      : ranks_(ranks),
        chunk_bytes_(chunk_bytes),
        tiles_(tiles),
        network_(network),
        wire_(ranks.size(), network),
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
      // All events of one instant are processed before the messages they enable compete for the ports.
      if (events_.empty() || events_.top().time > now_) start_messages();
      if (events_.empty()) break;
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
  struct SimulatedEvent {
    double time = 0;
    uint64_t order = 0;
    bool arrival = false;  // false: the message has left its ports
    SimulatedMessage message;
    bool operator>(const SimulatedEvent& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  const Lane& lane(const SimulatedLane& at) const { return ranks_[at.rank].lanes[at.lane]; }
  bool done(const SimulatedLane& at) const { return at.tile >= tiles_ || lane(at).steps.empty(); }
  SimulatedLink& link(size_t from, size_t to, uint16_t port) {
    return links_[{from * ranks_.size() + to, port}];
  }
  const std::vector<uint16_t>& peers(const SimulatedLane& at, uint16_t set) const {
    static const std::vector<uint16_t> none;
    return set == Step::kNone ? none : ranks_[at.rank].peer_sets[set];
  }

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
      if (other.tile < at.tile || (other.tile == at.tile && other.step <= step.wait_step)) return false;
    }
    for (size_t peer : peers(at, step.recv_set))
      if (peer != at.rank && link(peer, at.rank, lane(at).port).arrived == 0) return false;
    for (size_t peer : peers(at, step.send_set))
      if (link(at.rank, peer, lane(at).port).in_use >= network_.slots) return false;
    return true;
  }

  void execute(SimulatedLane& at) {
    const Step& step = lane(at).steps[at.step];
    const uint16_t port = lane(at).port;
    for (size_t peer : peers(at, step.recv_set)) {
      if (peer == at.rank) continue;
      SimulatedLink& from = link(peer, at.rank, port);
      --from.arrived;
      --from.in_use;
      wake(peer);
    }
    for (size_t peer : peers(at, step.send_set)) {
      ++link(at.rank, peer, port).in_use;
      wire_.queue({at.rank, peer, port, step.count * chunk_bytes_});
    }
    last_step_ = now_;
    if (++at.step == lane(at).steps.size()) {
      at.step = 0;
      ++at.tile;
    }
  }

  void take_event() {
    const SimulatedEvent event = events_.top();
    events_.pop();
    now_ = event.time;
    if (!event.arrival) {
      wire_.finish(event.message);
      return;
    }
    ++link(event.message.from, event.message.to, event.message.port).arrived;
    wake(event.message.to);
  }

  void start_messages() {
    for (const SimulatedWire::Transfer& transfer : wire_.start(now_)) {
      events_.push({transfer.left_at, next_event_++, false, transfer.message});
      events_.push({transfer.arrives_at, next_event_++, true, transfer.message});
    }
  }

  void wake(size_t rank) { awake_.push_back(rank); }

  const std::vector<Schedule>& ranks_;
  double chunk_bytes_;
  int tiles_;
  SimulatedNetwork network_;
  SimulatedWire wire_;
  std::vector<std::vector<SimulatedLane>> lanes_;  // [rank]
  std::map<std::pair<size_t, uint16_t>, SimulatedLink> links_;
  std::priority_queue<SimulatedEvent, std::vector<SimulatedEvent>, std::greater<>> events_;
  std::vector<size_t> awake_;  // ranks whose lanes may be able to advance
  uint64_t next_event_ = 0;
  double now_ = 0;
  double last_step_ = 0;
};

}  // namespace

Result<double> simulate(const Shape& shape, const std::vector<Schedule>& ranks, double bytes, int tiles,
                        const SimulatedNetwork& network) {
  RONDO_TRY(check_structure(shape, ranks));
  const int chunks = std::max(ranks.front().input_chunks, ranks.front().output_chunks);
  const bool empty = shape.kind == CollectiveKind::Barrier;
  return Simulation(ranks, empty ? 0 : bytes / chunks / tiles, tiles, network).run();
}

}  // namespace rondo
