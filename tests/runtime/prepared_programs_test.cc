// SPDX-License-Identifier: Apache-2.0
// Random programs of prepared and ordinary calls. All ranks draw the same groups and the same order of them,
// but each makes a group in a manner of its own: ordinarily, by run(), or by start() and a wait that comes at
// once, later or not before other groups. Every result is compared with one computed from the inputs of all
// ranks.
#include <numeric>
#include <string>

#include "catch.h"
#include "oracle.h"
#include "prepared.h"
#include "sanitized.h"
#include "seed.h"
#include "worlds.h"

namespace rondo::test {
namespace {

enum class Kind {
  AllReduce,
  InPlace,
  Broadcast,
  Gather,
  GatherV,
  ReduceScatter,
  Scan,
  AllToAll,
  Shift,
  Count
};

/// A call, or a send and a receive, with buffers of its own. Values are small: sums stay far from overflow.
class Element {
 public:
  /// `tag`: of its messages, and of no other element's.
  Element(const Rank& rank, uint64_t seed, int tag)
      : rank_(rank),
        seed_(seed),
        tag_(tag),
        kind_(static_cast<Kind>(mix(seed, 1) % static_cast<uint64_t>(Kind::Count))),
        count_(mix(seed, 2) % 4 == 0 ? 20'000 + mix(seed, 3) % 20'000 : mix(seed, 3) % 200),
        root_(static_cast<int>(mix(seed, 4) % size())),
        shift_(static_cast<int>(mix(seed, 5) % size())),
        from_(blocks(true) * count_),
        to_(blocks(false) * count_) {
    for (size_t r = 0; r < size(); ++r) counts_.push_back(r % 2 == 0 ? count_ : count_ / 3);
  }

  void fill(uint64_t step) {
    step_ = step;
    for (size_t i = 0; i < from_.size(); ++i) from_[i] = input(rank_.rank, i);
    std::fill(to_.begin(), to_.end(), -1);
    if (kind_ == Kind::InPlace) to_ = from_;
  }

  void issue() {
    const rondo_comm_t comm = rank_.comm;
    const auto type = RONDO_INT64;
    switch (kind_) {
      case Kind::AllReduce:
        return check(rondo_all_reduce(from_.data(), to_.data(), count_, type, RONDO_SUM, comm, nullptr),
                     comm);
      case Kind::InPlace:
        return check(rondo_all_reduce(to_.data(), to_.data(), count_, type, RONDO_MAX, comm, nullptr), comm);
      case Kind::Broadcast:
        return check(rondo_broadcast(from_.data(), to_.data(), count_, type, root_, comm, nullptr), comm);
      case Kind::Gather:
        return check(rondo_gather(from_.data(), to_.data(), count_, type, root_, comm, nullptr), comm);
      case Kind::GatherV:
        return check(
            rondo_all_gather_v(from_.data(), to_.data(), counts_.data(), nullptr, type, comm, nullptr), comm);
      case Kind::ReduceScatter:
        return check(rondo_reduce_scatter(from_.data(), to_.data(), count_, type, RONDO_SUM, comm, nullptr),
                     comm);
      case Kind::Scan:
        return check(rondo_scan(from_.data(), to_.data(), count_, type, RONDO_SUM, comm, nullptr), comm);
      case Kind::AllToAll:
        return check(rondo_all_to_all(from_.data(), to_.data(), count_, type, comm, nullptr), comm);
      case Kind::Shift:
        check(rondo_send(from_.data(), count_, type, peer(shift_), tag_, comm, nullptr), comm);
        return check(rondo_recv(to_.data(), count_, type, peer(-shift_), tag_, comm, nullptr, &receipt_),
                     comm);
      case Kind::Count: break;
    }
  }

  void verify() {
    for (size_t i = 0; i < to_.size(); ++i)
      if (to_[i] != expected(i))
        require(false, "kind " + std::to_string(static_cast<int>(kind_)) + ", count " +
                           std::to_string(count_) + ", step " + std::to_string(step_) + ": element " +
                           std::to_string(i) + " is " + std::to_string(to_[i]) + " and not " +
                           std::to_string(expected(i)));
    if (kind_ != Kind::Shift) return;
    require(receipt_.source == peer(-shift_) && receipt_.tag == tag_ && receipt_.count == count_,
            "wrong receipt");
    receipt_ = {};
  }

 private:
  size_t size() const { return static_cast<size_t>(rank_.size); }
  int peer(int distance) const { return (rank_.rank + distance + rank_.size) % rank_.size; }
  size_t blocks(bool sends) const {
    const bool has_input_blocks = kind_ == Kind::ReduceScatter || kind_ == Kind::AllToAll;
    const bool has_output_blocks = kind_ == Kind::Gather || kind_ == Kind::GatherV || kind_ == Kind::AllToAll;
    return (sends ? has_input_blocks : has_output_blocks) ? size() : 1;
  }
  int64_t input(int rank, size_t i) const {
    return static_cast<int64_t>(mix(seed_ + step_ * 7919, static_cast<uint64_t>(rank), i) % 1'000'000);
  }
  /// Over ranks 0 to `last`.
  int64_t sum(int last, size_t i) const {
    int64_t sum = 0;
    for (int r = 0; r <= last; ++r) sum += input(r, i);
    return sum;
  }
  int64_t greatest(size_t i) const {
    int64_t greatest = -1;
    for (int r = 0; r < rank_.size; ++r) greatest = std::max(greatest, input(r, i));
    return greatest;
  }
  int64_t gathered_v(size_t i) const {
    size_t at = 0;
    for (size_t r = 0; r < size(); at += counts_[r++])
      if (i - at < counts_[r]) return input(static_cast<int>(r), i - at);
    return -1;
  }
  int64_t expected(size_t i) const {
    const auto own = static_cast<size_t>(rank_.rank);
    const auto block = static_cast<int>(count_ == 0 ? 0 : i / count_);
    switch (kind_) {
      case Kind::AllReduce: return sum(rank_.size - 1, i);
      case Kind::InPlace: return greatest(i);
      case Kind::Broadcast: return input(root_, i);
      case Kind::Gather: return rank_.rank == root_ ? input(block, i % count_) : -1;
      case Kind::GatherV: return gathered_v(i);
      case Kind::ReduceScatter: return sum(rank_.size - 1, own * count_ + i);
      case Kind::Scan: return sum(rank_.rank, i);
      case Kind::AllToAll: return input(block, own * count_ + i % count_);
      case Kind::Shift: return input(peer(-shift_), i);
      case Kind::Count: break;
    }
    return -1;
  }

  Rank rank_;
  uint64_t seed_;
  int tag_;
  Kind kind_;
  size_t count_;
  int root_;
  int shift_;
  std::vector<int64_t> from_;
  std::vector<int64_t> to_;
  std::vector<size_t> counts_;
  rondo_receipt_t receipt_{};
  uint64_t step_ = 0;
};

/// Some elements, and a request that makes them.
class Group {
 public:
  Group(const Rank& rank, uint64_t seed, int number)
      : elements_(make_elements(rank, seed, number)), request_(prepare([this] { issue(); })) {}
  Group(Group&& other) noexcept = default;

  void fill(uint64_t step) {
    for (Element& element : elements_) element.fill(step);
  }
  void run() const { check(rondo_request_run(request_.get())); }
  void start() {
    check(rondo_request_start(request_.get()));
    is_started_ = true;
  }
  void run_ordinarily() {
    check(rondo_group_start());
    issue();
    check(rondo_group_end());
  }
  void wait() {
    if (std::exchange(is_started_, false)) check(rondo_request_wait(request_.get(), 0));
  }
  void verify() {
    for (Element& element : elements_) element.verify();
  }

 private:
  static std::vector<Element> make_elements(const Rank& rank, uint64_t seed, int number) {
    std::vector<Element> elements;
    for (int i = 0; i <= static_cast<int>(mix(seed, 8) % 4); ++i)
      elements.emplace_back(rank, mix(seed, 9, static_cast<uint64_t>(i)), 4 * number + i);
    return elements;
  }
  void issue() {
    for (Element& element : elements_) element.issue();
  }

  std::vector<Element> elements_;
  Request request_;
  bool is_started_ = false;
};

/// Makes a group in a manner of this rank's own.
void make(Group& group, uint64_t manner) {
  switch (manner % 4) {
    case 0: return group.run_ordinarily();
    case 1: return group.run();
    case 2: group.start(); return group.wait();
    default: return group.start();  // waited for at the end of the step
  }
}

void run_program(const Rank& rank, uint64_t seed) {
  constexpr uint64_t kGroups = 6, kSteps = 12;
  std::vector<Group> groups;
  groups.reserve(kGroups);
  for (uint64_t g = 0; g < kGroups; ++g) groups.emplace_back(rank, mix(seed, 10, g), static_cast<int>(g));
  for (uint64_t step = 0; step < kSteps; ++step) {
    std::vector<size_t> order(kGroups);
    std::iota(order.begin(), order.end(), size_t{0});
    for (size_t i = kGroups; i > 1; --i) std::swap(order[i - 1], order[mix(seed, 11 + step, i) % i]);
    for (const size_t g : order) groups[g].fill(step);
    for (const size_t g : order) {
      make(groups[g], mix(seed, 1000 + step * kGroups + g, static_cast<uint64_t>(rank.rank)));
    }
    for (Group& group : groups) {
      group.wait();
      group.verify();
    }
  }
}

TEST_CASE("random programs of prepared and ordinary calls give the right results, on 1 to 5 ranks") {
  const int nranks = GENERATE(1, 2, 3, 4, 5);
  const uint64_t programs = kSanitized ? 1 : brief() ? 2 : 4;
  for (const Way& way : kWays) {
    INFO(nranks << " ranks, " << way.transport);
    expect_success(run_world(world_of(way, nranks), [nranks, programs](Rank& rank) {
      for (uint64_t program = 0; program < programs; ++program) {
        const uint64_t seed = test_seed(static_cast<uint64_t>(nranks) * 100 + program);
        try {
          run_program(rank, mix(seed, program));
        } catch (const std::exception& failure) {
          require(false, "program " + std::to_string(program) + ": " + failure.what());
        }
      }
    }));
  }
}

}  // namespace
}  // namespace rondo::test
