// SPDX-License-Identifier: Apache-2.0
#include "mutations.h"

#include <algorithm>

namespace rondo {
namespace {

class Breaker {
 public:
  Breaker(const std::vector<Schedule>& ranks, const std::function<void(const Mutant&)>& visit)
      : ranks_(ranks), visit_(visit) {}

  void break_at(size_t rank, size_t lane, size_t step) {
    rank_ = rank;
    lane_ = lane;
    step_ = step;
    break_list();
    break_peers();
    break_places();
    break_verbs();
  }

  void break_lane(size_t rank, size_t lane) {
    rank_ = rank;
    lane_ = lane;
    step_ = 0;
    change("move a lane to another port", [](Schedule& schedule, Lane& own, Step&) {
      own.port = static_cast<uint16_t>(schedule.lanes.size());
    });
  }

 private:
  template <typename Change>
  void change(const char* kind, Change&& apply) {
    Mutant mutant{kind, "", ranks_};
    Schedule& schedule = mutant.ranks[rank_];
    Lane& own = schedule.lanes[lane_];
    apply(schedule, own, own.steps[step_]);
    const bool same_port = own.port == ranks_[rank_].lanes[lane_].port;
    if (same_port && to_string(schedule) == to_string(ranks_[rank_])) return;
    mutant.where = "rank " + std::to_string(rank_) + " lane " + std::to_string(lane_) + " step " +
                   std::to_string(step_) + " (" +
                   to_string(ranks_[rank_], ranks_[rank_].lanes[lane_].steps[step_]) + ")";
    visit_(mutant);
  }

  const Step& original() const { return ranks_[rank_].lanes[lane_].steps[step_]; }

  void break_list() {
    const auto at = static_cast<std::ptrdiff_t>(step_);
    change("drop a step", [&](Schedule&, Lane& own, Step&) { own.steps.erase(own.steps.begin() + at); });
    change("repeat a step", [&](Schedule&, Lane& own, Step& step) {
      const Step copy = step;
      own.steps.insert(own.steps.begin() + at, copy);
    });
    if (step_ + 1 < ranks_[rank_].lanes[lane_].steps.size())
      change("swap two steps",
             [&](Schedule&, Lane& own, Step&) { std::swap(own.steps[step_], own.steps[step_ + 1]); });
  }

  /// Gives the Step a modified copy of one of its peer sets.
  template <typename Change>
  void change_set(const char* kind, uint16_t Step::*member, Change&& apply) {
    if (original().*member == Step::kNone) return;
    change(kind, [&](Schedule& schedule, Lane&, Step& step) {
      std::vector<int> set = schedule.peer_sets[step.*member];
      apply(set);
      step.*member = static_cast<uint16_t>(schedule.peer_sets.size());
      schedule.peer_sets.push_back(std::move(set));
    });
  }

  void break_peers() {
    const auto n = static_cast<int>(ranks_.size());
    const auto own = static_cast<int>(rank_);
    const auto redirect = [&](std::vector<int>& set) {
      const size_t which = set[0] == own && set.size() > 1 ? 1 : 0;
      do {
        set[which] = (set[which] + 1) % n;
      } while (set[which] == own);
    };
    const auto shorten = [](std::vector<int>& set) {
      if (set.size() > 1) set.pop_back();
    };
    const auto reverse = [](std::vector<int>& set) { std::reverse(set.begin(), set.end()); };
    if (n > 2) change_set("redirect a send", &Step::send_set, redirect);
    if (n > 2) change_set("redirect a receive", &Step::recv_set, redirect);
    change_set("send to one rank less", &Step::send_set, shorten);
    change_set("fold one operand less", &Step::recv_set, shorten);
    change_set("reverse a fold", &Step::recv_set, reverse);
  }

  void break_places() {
    change("take the next source chunk", [](Schedule&, Lane&, Step& step) { ++step.src_chunk; });
    change("write the next chunk", [](Schedule&, Lane&, Step& step) { ++step.dst_chunk; });
    if (original().src_chunk > 0)
      change("take the chunk before", [](Schedule&, Lane&, Step& step) { --step.src_chunk; });
    if (original().dst_chunk > 0)
      change("write the chunk before", [](Schedule&, Lane&, Step& step) { --step.dst_chunk; });
    change("move a chunk more", [](Schedule&, Lane&, Step& step) { ++step.count; });
    if (original().count > 1) change("move a chunk less", [](Schedule&, Lane&, Step& step) { --step.count; });
    for (Buffer buffer : {Buffer::Input, Buffer::Output, Buffer::Scratch}) {
      const auto value = static_cast<int>(buffer);
      if (original().src() != Buffer::None)
        change("take another buffer", [&](Schedule&, Lane&, Step& step) {
          step.buffers = static_cast<uint8_t>((step.buffers & 0xf0) | value);
        });
      if (original().dst() != Buffer::None)
        change("write another buffer", [&](Schedule&, Lane&, Step& step) {
          step.buffers = static_cast<uint8_t>((step.buffers & 15) | value << 4);
        });
    }
  }

  void break_verbs() {
    change("finish or not", [](Schedule&, Lane&, Step& step) { step.verbs ^= kFinish; });
    if (original().has(kCopy))
      change("keep no copy", [](Schedule&, Lane&, Step& step) {
        step.verbs = static_cast<uint8_t>(step.verbs & ~kCopy);
        step.buffers &= 15;
      });
    if (original().has(kSend))
      change("send nothing", [](Schedule&, Lane&, Step& step) {
        step.verbs = static_cast<uint8_t>(step.verbs & ~kSend);
        step.send_set = Step::kNone;
      });
    if (original().wait_lane != Step::kNone)
      change("wait for nothing", [](Schedule&, Lane&, Step& step) { step.wait_lane = Step::kNone; });
  }

  const std::vector<Schedule>& ranks_;
  const std::function<void(const Mutant&)>& visit_;
  size_t rank_ = 0;
  size_t lane_ = 0;
  size_t step_ = 0;
};

}  // namespace

void for_each_mutant(const std::vector<Schedule>& ranks, const std::function<void(const Mutant&)>& visit) {
  Breaker breaker(ranks, visit);
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    for (size_t lane = 0; lane < ranks[rank].lanes.size(); ++lane) {
      breaker.break_lane(rank, lane);
      for (size_t step = 0; step < ranks[rank].lanes[lane].steps.size(); ++step)
        breaker.break_at(rank, lane, step);
    }
}

}  // namespace rondo
