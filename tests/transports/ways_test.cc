// SPDX-License-Identifier: Apache-2.0
// Which way is chosen, given simulated times; and the receiver's times.
#include <array>
#include <deque>
#include <optional>
#include <random>
#include <set>

#include "base/timed_choice.h"
#include "catch.h"
#include "shm/process_reader.h"
#include "shm/slot_picker.h"
#include "shm/ways.h"

namespace rondo::test {
namespace {

using Ways = TimedChoice::Ways;
using Costs = std::array<double, TimedChoice::kMaxWays>;  // ns per byte

enum Way : size_t { Plain, Streaming, Read, Sluggish };
constexpr Ways kUnread = 1 << Plain | 1 << Streaming;
constexpr Ways kThree = kUnread | 1 << Read;
constexpr Ways kFour = kThree | 1 << Sluggish;

constexpr size_t kTransferBytes = 65536;

/// A connection whose messages take given times, of which the sender learns some messages later.
class Simulated {
 public:
  explicit Simulated(const Costs& costs, Ways allowed = kThree, Ways sluggish = 0)
      : chooser_(sluggish), costs_(costs), allowed_(allowed), sluggish_(sluggish) {}

  void set(const Costs& costs) { costs_ = costs; }
  void allow(Ways allowed) { allowed_ = allowed; }
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
  int count(Way way) const { return counts_[way]; }
  double cost() const { return cost_; }

 private:
  struct Sent {
    size_t way;
    double ns_per_byte;
  };

  void send_one() {
    constexpr size_t kBehind = 16;
    const size_t way = chooser_.next(allowed_);
    REQUIRE((allowed_ >> way & 1) == 1);
    chooser_.takes(way);
    ++counts_[way];
    cost_ += costs_[way];
    const double noisy = cost_now(way) * (1 + noise_ * spread_(random_)) * (is_outlier() ? 1000 : 1);
    underway_.push_back({way, noisy});
    if (underway_.size() < kBehind) return;
    const Sent heard = underway_.front();
    chooser_.took(heard.way, kTransferBytes, static_cast<int64_t>(heard.ns_per_byte * kTransferBytes));
    underway_.pop_front();
  }
  /// The first messages of a sluggish way take a time that says nothing.
  double cost_now(size_t way) {
    constexpr int kSlow = 16;
    in_row_ = way == latest_ ? in_row_ + 1 : 1;
    latest_ = way;
    const bool misleads = (sluggish_ >> way & 1) == 1 && in_row_ <= kSlow;
    return misleads ? 1 / costs_[way] : costs_[way];
  }
  bool is_outlier() { return one_in_ != 0 && random_() % one_in_ == 0; }

  TimedChoice chooser_;
  Costs costs_;
  Ways allowed_;
  Ways sluggish_;
  double noise_ = 0;
  unsigned one_in_ = 0;
  size_t latest_ = 0;
  int in_row_ = 0;
  std::array<int, TimedChoice::kMaxWays> counts_{};
  double cost_ = 0;
  std::mt19937 random_{1};
  std::uniform_real_distribution<double> spread_{-1, 1};
  std::deque<Sent> underway_;
};

const std::array<std::pair<Costs, Way>, 3> kStates{
    {{{0.07, 0.10, 0.12}, Plain}, {{0.51, 0.10, 0.14}, Streaming}, {{0.51, 0.20, 0.08}, Read}}};

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
    REQUIRE(connection.count(Plain) >= 5);
    REQUIRE(connection.count(Read) >= 5);
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
  REQUIRE(std::max({connection.count(Plain), connection.count(Streaming), connection.count(Read)}) > 9700);
}

TEST_CASE("a way whose time depends on what went before is judged by the later messages of a row") {
  constexpr Ways kSluggish = 1 << Plain | 1 << Sluggish;
  for (const auto& [costs, best] : std::array<std::pair<Costs, Way>, 4>{{{{1.3, 2, 2, 1.1}, Sluggish},
                                                                         {{1.1, 2, 2, 1.3}, Plain},
                                                                         {{3, 1, 2, 5}, Streaming},
                                                                         {{3, 2, 1.5, 5}, Read}}}) {
    INFO(best);
    Simulated connection(costs, kFour, kSluggish);
    connection.send(300);
    connection.send(20'000);
    CHECK(connection.count(best) > 18'000);
    CHECK(connection.cost() < 20'000 * costs[best] * 1.04);
    CHECK(connection.count(Plain) >= 20);
    CHECK(connection.count(Sluggish) >= 20);
  }
}

TEST_CASE("a way that is allowed later is found, too") {
  Simulated connection({1.3, 2, 2, 1.1}, kThree, 1 << Plain | 1 << Sluggish);
  connection.send(1000);
  REQUIRE(connection.count(Plain) > 900);
  connection.allow(kFour);
  connection.send(200);
  connection.send(1000);
  REQUIRE(connection.count(Sluggish) > 900);
}

TEST_CASE("no trial begins with a message that is not timed") {
  TimedChoice choice;
  for (int message = 0; message < 1000; ++message) {
    REQUIRE(choice.next(kThree, false) == Plain);
    choice.takes(Plain);
    choice.took(Plain, kTransferBytes, 1000);
  }
  REQUIRE(choice.next(kThree) != Plain);
}

TEST_CASE("a way that took much longer than the best one when it was first tried is left for long") {
  TimedChoice choice;
  const auto send = [&choice](int messages, int64_t trial_ns) {
    int trials = 0;
    for (int message = 0; message < messages; ++message) {
      const size_t way = choice.next(1 << Plain | 1 << Streaming);
      choice.takes(way);
      choice.took(way, kTransferBytes, way == Plain ? 1000 : trial_ns);
      trials += way == Plain ? 0 : 1;
    }
    return trials;
  };
  SECTION("as a mishap may make it") {
    REQUIRE(send(90, 10'000) == 1);
    REQUIRE(send(1000, 500) > 900);
  }
  SECTION("but not if it took a little longer") { REQUIRE(send(90, 1500) == 3); }
}

TEST_CASE("one message in four is timed, whatever part of them is long") {
  for (const uint64_t every : {1, 2, 3, 4, 5, 7, 8, 13, 16, 64})
    for (uint64_t first = 1; first <= every; ++first) {
      INFO(first << " and then every " << every);
      int sampled = 0;
      for (uint64_t i = 0; i < 1000; ++i) sampled += shm::is_sampled(first + i * every) ? 1 : 0;
      REQUIRE(sampled > 230);
      REQUIRE(sampled < 270);
    }
}

/// The sending end of a connection whose messages are released at once.
class Sender {
 public:
  static constexpr uint64_t kSlots = 16;
  /// `new_part_ns`: how long it takes to fill a part of the slots' memory for the first time.
  explicit Sender(bool fit_cache, int64_t new_part_ns = 0)
      : picker_(kSlots, 0, fit_cache), new_part_ns_(new_part_ns) {}

  /// Returns the way of a message that took the given times. `could_post`: it would be read by the receiver.
  shm::Way send(size_t bytes, bool could_post, const std::array<uint32_t, 4>& times_ns) {
    part_ = picker_.pick(number_ - 1).value();
    shm::Way way = shm::Way::Read;
    const bool reads = could_post && ways_.reads(number_, bytes, picker_);
    if (!reads) {
      const auto filling = ways_.filling(number_, bytes, could_post, picker_);
      way = filling.streams ? shm::Way::Streaming : picker_.reused() ? shm::Way::Reusing : shm::Way::InTurn;
      if (filling.is_timed) ways_.filled(picker_.is_new() ? new_part_ns_ : 0, false);
    }
    picker_.use(part_, number_, bytes);
    if (reads)
      ways_.sent_to_be_read(number_, bytes, picker_);
    else
      ways_.sent_by_slot(number_, picker_);
    times_[(number_ - 1) % kSlots] = times_ns[static_cast<size_t>(way)];
    ways_.hear(number_++);
    return way;
  }
  uint64_t part() const { return part_; }

 private:
  std::array<uint32_t, kSlots> times_{};
  shm::SentWays ways_{times_.data(), kSlots, kSlots};
  shm::SlotPicker picker_;
  int64_t new_part_ns_;
  uint64_t number_ = 1;
  uint64_t part_ = 0;
};

constexpr std::array<uint32_t, 4> kReadingIsSlow{1000, 9000, 9000, 9000};
constexpr std::array<uint32_t, 4> kReadingIsFast{9000, 9000, 1000, 9000};
constexpr std::array<uint32_t, 4> kStreamingIsFast{90'000'000, 1000, 90'000'000, 90'000'000};
constexpr std::array<uint32_t, 4> kTurnsAreFast{9000, 9000, 9000, 1000};

TEST_CASE("a connection's first messages are read, or none where that is slow, and then by the fastest way") {
  const bool is_quick = shm::is_reading_quick();
  const auto [times, fastest] =
      is_quick ? std::pair(kReadingIsSlow, shm::Way::Reusing) : std::pair(kReadingIsFast, shm::Way::Read);
  Sender sender(false);
  for (int i = 0; i < (is_quick ? 1024 : 4096); ++i)
    REQUIRE((sender.send(kTransferBytes, true, times) == shm::Way::Read) == is_quick);
  int slower = 0;
  for (int i = 0; i < 2000; ++i) slower += sender.send(kTransferBytes, true, times) == fastest ? 0 : 1;
  REQUIRE(slower < 200);
}

TEST_CASE("messages of a new length begin with what is fastest for those of the nearest one") {
  Sender sender(false);
  for (int i = 0; i < 300; ++i) sender.send(65536, false, kStreamingIsFast);
  REQUIRE(sender.send(32768, false, kStreamingIsFast) == shm::Way::Streaming);
  REQUIRE(sender.send(16384, false, kStreamingIsFast) == shm::Way::Streaming);
}

TEST_CASE(
    "stores past the caches are not tried where plain ones are nearly as fast as copies within a core") {
  constexpr std::array<uint32_t, 4> kNear{1000, 1000, 9000, 9000};
  Sender sender(true);
  for (int i = 0; i < 1000; ++i) REQUIRE(sender.send(kTransferBytes, false, kNear) == shm::Way::Reusing);
}

TEST_CASE("parts are used in turn where that is fastest, but not if all slots fit a cache") {
  for (const bool fit_cache : {false, true}) {
    INFO(fit_cache);
    Sender sender(fit_cache);
    for (int i = 0; i < 1000; ++i) sender.send(kTransferBytes, false, kTurnsAreFast);
    int in_turn = 0;
    for (int i = 0; i < 100; ++i)
      in_turn += sender.send(kTransferBytes, false, kTurnsAreFast) == shm::Way::InTurn ? 1 : 0;
    REQUIRE(in_turn == (fit_cache ? 0 : 100));
  }
}

TEST_CASE("parts are not tried in turn before touching them all takes a tenth of the time so far") {
  constexpr int64_t kHour_ns = 3'600'000'000'000;
  Sender sender(false, kHour_ns);
  for (int i = 0; i < 3000; ++i)
    REQUIRE(sender.send(kTransferBytes, false, kTurnsAreFast) != shm::Way::InTurn);
}

TEST_CASE("short messages at first use few parts if they are released, and others if not, without a wait") {
  constexpr size_t kShort = 4096;
  shm::SlotPicker picker(16, 0, false);
  for (uint64_t message = 1; message <= 40; ++message) {
    const uint64_t released = message < 9 ? 0 : message - 1;
    REQUIRE(picker.needs_releases(released) == (message >= 5 && message < 9));
    const uint64_t part = picker.pick(released).value();
    REQUIRE(part == (message < 9 ? message - 1 : (message - 1) % 4));
    picker.use(part, message, kShort);
  }
}

TEST_CASE("a sender waits a while for one of few parts, and then takes another") {
  shm::SlotPicker picker(16, 0, false);
  std::set<uint64_t> used;
  for (uint64_t message = 1; message <= 5; ++message) {
    std::optional<uint64_t> part = picker.pick(0);
    int in_vain = 0;
    for (; !part; part = picker.pick(0)) REQUIRE(++in_vain < 100'000'000);
    REQUIRE((in_vain > 0) == (message == 5));
    REQUIRE(used.insert(*part).second);
    picker.use(*part, message, kTransferBytes);
  }
  const std::optional<uint64_t> next = picker.pick(0);  // the receiver has released nothing more
  REQUIRE(next.has_value());
  REQUIRE_FALSE(used.contains(*next));
  REQUIRE(picker.pick(2) == 1);  // it has released two
}

TEST_CASE("there is no part while all are in use, however few messages are in flight") {
  shm::SlotPicker picker(4, 0, false);
  for (uint64_t message = 1; message <= 4; ++message) picker.use(picker.pick(0).value(), message, 100);
  REQUIRE_FALSE(picker.pick(0).has_value());
  REQUIRE(picker.needs_releases(0));
  picker.use(picker.pick(3).value(), 9, 100);  // others than these messages went elsewhere
  REQUIRE(picker.pick(3).has_value());
}

TEST_CASE("what a message took before its receiver began counts for no later one") {
  constexpr int64_t kLong_ns = 1'000'000'000'000;
  std::array<uint32_t, 2> times{};
  shm::TakenTime taken(times.data());
  taken.add(kLong_ns);
  taken.begin();
  taken.end(0);
  REQUIRE(times[0] == UINT32_MAX);
  taken.add(kLong_ns);
  taken.end(0);  // too short to be timed
  taken.begin();
  taken.end(1);
  REQUIRE(times[1] < UINT32_MAX);
}

TEST_CASE("nothing is read if reading is forbidden") {
  Simulated connection({0.5, 0.3, 0.01}, kUnread);
  connection.send(5000);
  REQUIRE(connection.count(Read) == 0);
  REQUIRE(connection.count(Streaming) > 4800);
}

}  // namespace
}  // namespace rondo::test
