// SPDX-License-Identifier: Apache-2.0
// Which way a connection's long messages take, given simulated times.
#include <array>
#include <deque>
#include <random>

#include "catch.h"
#include "shm/way_chooser.h"

namespace rondo::test {
namespace {

using shm::kWays;
using shm::Way;
using Costs = std::array<double, kWays>;  // ns per byte

constexpr size_t kTransferBytes = 65536;

/// A connection whose messages take given times, of which the sender learns some messages later.
class Simulated {
 public:
  explicit Simulated(const Costs& costs, bool may_read = true) : costs_(costs), may_read_(may_read) {}

  void set(const Costs& costs) { costs_ = costs; }
  /// Every message's time varies by up to this fraction.
  void set_noise(double noise) { noise_ = noise; }
  /// One message in `one_in`, at random, takes a thousand times as long; 0: none.
  void set_outliers(unsigned one_in) { one_in_ = one_in; }

  void send(int messages) {
    counts_ = {};
    cost_ = 0;
    for (int i = 0; i < messages; ++i) send_one();
  }
  /// Counts the latest send().
  int count(Way way) const { return counts_[static_cast<size_t>(way)]; }
  double cost() const { return cost_; }

 private:
  void send_one() {
    constexpr size_t kBehind = 16;
    const Way way = chooser_.next(may_read_);
    chooser_.sent(way);
    const double cost = costs_[static_cast<size_t>(way)];
    ++counts_[static_cast<size_t>(way)];
    cost_ += cost;
    underway_.push_back({way, cost * (1 + noise_ * spread_(random_)) * (is_outlier() ? 1000 : 1)});
    if (underway_.size() < kBehind) return;
    const auto [heard, ns_per_byte] = underway_.front();
    chooser_.took(heard, kTransferBytes, static_cast<int64_t>(ns_per_byte * kTransferBytes));
    underway_.pop_front();
  }
  bool is_outlier() { return one_in_ != 0 && random_() % one_in_ == 0; }

  shm::WayChooser chooser_;
  Costs costs_;
  bool may_read_;
  double noise_ = 0;
  unsigned one_in_ = 0;
  std::array<int, kWays> counts_{};
  double cost_ = 0;
  std::mt19937 random_{1};
  std::uniform_real_distribution<double> spread_{-1, 1};
  std::deque<std::pair<Way, double>> underway_;
};

const std::array<std::pair<Costs, Way>, 3> kStates{{{{0.07, 0.10, 0.12}, Way::Plain},
                                                    {{0.51, 0.10, 0.14}, Way::Streaming},
                                                    {{0.51, 0.20, 0.08}, Way::Read}}};

TEST_CASE("the fastest way is found soon, and nearly all messages take it") {
  for (const auto& [costs, best] : kStates) {
    Simulated connection(costs);
    connection.send(100);
    connection.send(1000);
    REQUIRE(connection.count(best) > 970);
  }
}

TEST_CASE("trials of the other ways cost one percent each, however slow they are, and are made") {
  for (const double slower : {1.0, 1.2, 2.0, 5.0, 50.0}) {
    INFO(slower);
    Simulated connection({slower, 1, slower});
    connection.send(1000);
    connection.send(50'000);
    REQUIRE(connection.cost() < 50'000 * 1.021);
    REQUIRE(connection.count(Way::Plain) >= 5);
    REQUIRE(connection.count(Way::Read) >= 5);
  }
}

TEST_CASE("the way adapts when the state of the machine changes, whatever the order of states") {
  for (const auto& [before, unused] : kStates)
    for (const auto& [after, best] : kStates) {
      Simulated connection(before);
      connection.send(3000);
      connection.set(after);
      connection.send(2000);
      connection.send(1000);
      REQUIRE(connection.count(best) > 970);
    }
}

TEST_CASE("messages delayed by preemption change nothing") {
  for (const auto& [costs, best] : kStates) {
    Simulated connection(costs);
    connection.set_outliers(10);
    connection.send(1000);
    connection.send(10'000);
    REQUIRE(connection.count(best) > 9500);
  }
}

TEST_CASE("after a moment in which all messages were slow the fastest way is found again") {
  for (const auto& [costs, best] : kStates) {
    Simulated connection(costs);
    connection.send(2000);
    Costs busy = costs;
    for (double& cost : busy) cost *= 20;
    connection.set(busy);
    connection.send(60);
    connection.set(costs);
    connection.send(3000);
    connection.send(1000);
    REQUIRE(connection.count(best) > 970);
  }
}

TEST_CASE("among equally fast ways one is kept") {
  Simulated connection({0.1, 0.1, 0.1});
  connection.set_noise(0.05);
  connection.send(1000);
  connection.send(10'000);
  REQUIRE(std::max({connection.count(Way::Plain), connection.count(Way::Streaming),
                    connection.count(Way::Read)}) > 9700);
}

TEST_CASE("nothing is read if reading is forbidden") {
  Simulated connection({0.5, 0.3, 0.01}, false);
  connection.send(5000);
  REQUIRE(connection.count(Way::Read) == 0);
  REQUIRE(connection.count(Way::Streaming) > 4800);
}

}  // namespace
}  // namespace rondo::test
