// SPDX-License-Identifier: Apache-2.0
#include "simulated_wire.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <queue>
#include <tuple>
#include <utility>

namespace rondo {
namespace {

/// Each rank sends one message at a time and receives one at a time.
class PortWire final : public SimulatedWire {
 public:
  PortWire(size_t nranks, double bytes_per_s)
      : bytes_per_s_(bytes_per_s), sending_(nranks), receiving_(nranks), waiting_(nranks) {}

  /// Behind all those of its sender.
  Status queue(const SimulatedMessage& message) override {
    waiting_[message.from].push_back({message, next_++});
    ready_.push_back(message.from);
    return {};
  }

  void start(double now) override {
    std::erase_if(ready_, [&](size_t rank) { return sending_[rank] || waiting_[rank].empty(); });
    // The longest waiting first, so that no sender is starved by others with the same destination.
    std::sort(ready_.begin(), ready_.end(),
              [&](size_t a, size_t b) { return waiting_[a].front().order < waiting_[b].front().order; });
    ready_.erase(std::unique(ready_.begin(), ready_.end()), ready_.end());
    for (size_t rank : ready_) {
      SimulatedMessage message = waiting_[rank].front().message;
      if (receiving_[message.to]) continue;
      waiting_[rank].pop_front();
      sending_[rank] = receiving_[message.to] = true;
      message.begins = now;
      under_way_.push({now + message.bytes / bytes_per_s_, next_++, message});
    }
  }

  double next_end() const override { return under_way_.empty() ? kNoEvent : under_way_.top().ends; }

  std::vector<SimulatedMessage> end(double now) override {
    std::vector<SimulatedMessage> ended;
    for (; next_end() <= now; under_way_.pop()) {
      const SimulatedMessage message = under_way_.top().message;
      sending_[message.from] = receiving_[message.to] = false;
      ready_.push_back(message.from);
      ended.push_back(message);
    }
    return ended;
  }

 private:
  struct Waiting {
    SimulatedMessage message;
    uint64_t order = 0;
  };
  struct Transfer {
    double ends = 0;
    uint64_t order = 0;
    SimulatedMessage message;
    bool operator>(const Transfer& other) const {
      return std::tie(ends, order) > std::tie(other.ends, other.order);
    }
  };

  double bytes_per_s_;
  std::vector<bool> sending_;
  std::vector<bool> receiving_;
  std::vector<std::deque<Waiting>> waiting_;  // for each sender
  std::vector<size_t> ready_;                 // superset of the senders that can start a transfer
  std::priority_queue<Transfer, std::vector<Transfer>, std::greater<>> under_way_;
  uint64_t next_ = 0;
};

/// Connections share links; each sends one message at a time.
class LinkWire final : public SimulatedWire {
 public:
  explicit LinkWire(const SimulatedNetwork& network) : network_(network) {}

  Status queue(const SimulatedMessage& message) override {
    const auto [at, is_new] = connections_.try_emplace({message.from, message.to, message.port});
    WiredConnection& connection = at->second;
    if (is_new) {
      connection.uses =
          network_.route(static_cast<int>(message.from), static_cast<int>(message.to), message.port);
      RONDO_TRY(check_route(message, connection.uses));
    }
    connection.waiting.push_back(message);
    if (connection.left == 0) ready_.push_back(&connection);
    return {};
  }

  void start(double now) override {
    if (ready_.empty() && !ended_) return;
    for (WiredConnection* connection : active_) connection->left -= connection->rate * (now - now_);
    now_ = now;
    for (WiredConnection* connection : std::exchange(ready_, {})) {
      if (connection->left > 0 || connection->waiting.empty()) continue;
      // A message without bytes takes no time, but it is sent like any other.
      connection->left = std::max(connection->waiting.front().bytes, std::numeric_limits<double>::min());
      connection->waiting.front().begins = now;
      active_.push_back(connection);
    }
    ended_ = false;
    share_links();
  }

  double next_end() const override {
    double next = kNoEvent;
    for (const WiredConnection* connection : active_)
      next = std::min(next, now_ + connection->left / connection->rate);
    return next;
  }

  std::vector<SimulatedMessage> end(double now) override {
    constexpr double kRounding = 1e-9;  // messages that end together in exact arithmetic do so here
    std::vector<SimulatedMessage> ended;
    std::erase_if(active_, [&](WiredConnection* connection) {
      const SimulatedMessage message = connection->waiting.front();
      const bool due = now_ + connection->left / connection->rate <= now;
      connection->left -= connection->rate * (now - now_);
      if (!due && connection->left > kRounding * message.bytes) return false;
      connection->left = 0;
      connection->waiting.pop_front();
      if (!connection->waiting.empty()) ready_.push_back(connection);
      ended.push_back(message);
      return true;
    });
    now_ = now;
    ended_ = true;
    return ended;
  }

 private:
  struct WiredConnection {
    std::vector<SimulatedLinkUse> uses;
    std::deque<SimulatedMessage> waiting;  // the first one is under way if bytes of it are left
    double left = 0;
    double rate = 0;  // bytes per second
  };

  Status check_route(const SimulatedMessage& message, const std::vector<SimulatedLinkUse>& uses) const {
    const bool known = !uses.empty() && std::ranges::all_of(uses, [&](const SimulatedLinkUse& use) {
      return use.link >= 0 && static_cast<size_t>(use.link) < network_.links.size() && use.share > 0;
    });
    if (known) return {};
    return error(Code::InvalidArgument, "no route of known links from rank {} to rank {} by port {}",
                 message.from, message.to, message.port);
  }

  /// Max-min fairness: all rates grow together until a link is full; those that cross it stay, and the others
  /// go on.
  void share_links() {
    std::vector<double> free = network_.links, wanted(free.size());
    std::vector<WiredConnection*> growing = active_;
    while (!growing.empty()) {
      std::fill(wanted.begin(), wanted.end(), 0);
      for (const WiredConnection* connection : growing)
        for (const auto& [link, share] : connection->uses) wanted[static_cast<size_t>(link)] += share;
      double rate = kNoEvent;
      for (size_t link = 0; link < free.size(); ++link)
        if (wanted[link] > 0) rate = std::min(rate, free[link] / wanted[link]);
      const auto is_full = [&](const SimulatedLinkUse& use) {
        const auto link = static_cast<size_t>(use.link);
        return free[link] <= rate * wanted[link] * (1 + 1e-12);
      };
      const auto stays = std::partition(growing.begin(), growing.end(), [&](const WiredConnection* one) {
        return !std::ranges::any_of(one->uses, is_full);
      });
      for (auto at = stays; at != growing.end(); ++at) {
        (*at)->rate = rate;
        for (const auto& [link, share] : (*at)->uses)
          free[static_cast<size_t>(link)] = std::max(0.0, free[static_cast<size_t>(link)] - rate * share);
      }
      growing.erase(stays, growing.end());
    }
  }

  const SimulatedNetwork& network_;
  std::map<std::tuple<size_t, size_t, uint16_t>, WiredConnection> connections_;
  std::vector<WiredConnection*> ready_;   // superset of those that can start a message
  std::vector<WiredConnection*> active_;  // with a message under way
  bool ended_ = false;                    // a message has, since rates were computed
  double now_ = 0;
};

}  // namespace

std::unique_ptr<SimulatedWire> make_wire(size_t nranks, const SimulatedNetwork& network) {
  if (network.links.empty()) return std::make_unique<PortWire>(nranks, network.bandwidth_bytes_per_s);
  return std::make_unique<LinkWire>(network);
}

}  // namespace rondo
