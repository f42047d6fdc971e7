// SPDX-License-Identifier: Apache-2.0
#include "schedule/staged.h"

#include <algorithm>
#include <iterator>

#include "narrow.h"

namespace rondo {
namespace {

bool does_something(const Move& move) {
  return !move.recv.empty() || !move.send.empty() || move.dst.buffer != Buffer::None;
}

void note(std::map<int, int>& uses, int lane, int step) {
  int& latest = uses.try_emplace(lane, step).first->second;
  latest = std::max(latest, step);
}

/// Calls `f` for each chunk that the Step reads or writes there.
template <typename F>
void for_chunks(Ref first, int count, F&& f) {
  if (first.buffer == Buffer::None) return;
  for (int i = 0; i < count; ++i) f(first.buffer, first.chunk + i);
}

template <typename F>
void for_reads(const Move& move, F&& f) {
  for_chunks(move.src, move.count, f);
  for (const int member : move.recv)
    if (is_scratch_operand(member)) for_chunks(scratch(chunk_of_operand(member)), move.count, f);
}

/// A Step of the smaller call as one of the whole.
Move placed(const Schedule& call, const Step& step, const Placement& place) {
  const auto chunk_at = [&](Buffer buffer, int chunk) {
    return buffer == Buffer::None ? Ref() : place.chunk({buffer, chunk});
  };
  Move move{.src = chunk_at(step.src(), step.src_chunk),
            .dst = chunk_at(step.dst(), step.dst_chunk),
            .finish = step.has(kFinish),
            .count = step.count * place.scale};
  if (step.has(kRecv))
    for (const int member : call.peer_sets[step.recv_set])
      move.recv.push_back(is_scratch_operand(member)
                              ? scratch_operand(place.chunk(scratch(chunk_of_operand(member))).chunk)
                              : place.rank(member));
  if (step.has(kSend))
    for (const int member : call.peer_sets[step.send_set]) move.send.push_back(place.rank(member));
  // What is at its place already, because the stage before has put it there.
  const bool stays =
      move.recv.empty() && move.src.buffer == move.dst.buffer && move.src.chunk == move.dst.chunk;
  if (stays) move.dst = {};
  if (stays && move.send.empty()) move = {};
  return move;
}

}  // namespace

void StagedSchedule::wait_for_all(const std::map<int, int>& uses, int lane,
                                  std::vector<StepWait>& waits) const {
  for (const auto& [other, step] : uses)
    if (other != lane) waits.push_back({.on = {other, step}});
}

void StagedSchedule::plan(StepPlace at, Move move, std::vector<StepWait> waits, const Memory& before) {
  const auto uses = [&before](Buffer buffer, int chunk) -> const Uses* {
    const auto found = before.find({buffer, chunk});
    return found == before.end() ? nullptr : &found->second;
  };
  for_reads(move, [&](Buffer buffer, int chunk) {
    if (const Uses* of = uses(buffer, chunk)) wait_for_all(of->writes, at.lane, waits);
  });
  for_chunks(move.dst, move.count, [&](Buffer buffer, int chunk) {
    if (const Uses* of = uses(buffer, chunk)) {
      wait_for_all(of->writes, at.lane, waits);
      wait_for_all(of->reads, at.lane, waits);
    }
    if (buffer != Buffer::Output) return;
    const int shared = InPlace::input_of_output(shape_, rank_, parts_, chunk);
    if (const Uses* of = uses(Buffer::Input, shared)) wait_for_all(of->reads, at.lane, waits);
  });
  if (lanes_.size() <= static_cast<size_t>(at.lane)) lanes_.resize(static_cast<size_t>(at.lane) + 1);
  lanes_[static_cast<size_t>(at.lane)].push_back({std::move(move), std::move(waits)});
}

void StagedSchedule::remember(StepPlace at, const Move& move) {
  for_reads(move, [&](Buffer buffer, int chunk) { note(memory_[{buffer, chunk}].reads, at.lane, at.step); });
  for_chunks(move.dst, move.count, [&](Buffer buffer, int chunk) {
    note(memory_[{buffer, chunk}].writes, at.lane, at.step);
    if (buffer == Buffer::Scratch) first_writes_.try_emplace({buffer, chunk}, at);
  });
}

int StagedSchedule::steps_in(int lane) const {
  const auto index = static_cast<size_t>(lane);
  return index < lanes_.size() ? static_cast<int>(lanes_[index].size()) : 0;
}

void StagedSchedule::add(int lane, const Move& move) {
  const StepPlace at{lane, steps_in(lane)};
  plan(at, move, {}, memory_);
  remember(at, move);
}

void StagedSchedule::add_call(const Schedule& call, int first_lane, const Placement& place) {
  const auto lane_of = [&](size_t index) { return first_lane + call.lanes[index].port; };
  const Memory before = memory_;  // the call orders its own Steps
  std::vector<int> begins;        // of its lanes, which other calls may have
  for (size_t index = 0; index < call.lanes.size(); ++index) begins.push_back(steps_in(lane_of(index)));
  for (size_t index = 0; index < call.lanes.size(); ++index) {
    int number = begins[index];
    for (const Step& step : call.lanes[index].steps) {
      const StepPlace at{lane_of(index), number++};
      std::vector<StepWait> waits;
      if (step.wait_lane != Step::kNone)
        waits.push_back({.on = {lane_of(step.wait_lane), begins[step.wait_lane] + step.wait_step},
                         .tile_before = step.has(kBefore)});
      const Move move = placed(call, step, place);
      plan(at, move, std::move(waits), before);
      remember(at, move);
    }
  }
}

void StagedSchedule::wait(int lane, int first_lane) {
  std::vector<StepWait> waits;
  for (auto other = static_cast<size_t>(first_lane); other < lanes_.size(); ++other)
    if (!lanes_[other].empty())
      waits.push_back({.on = {static_cast<int>(other), static_cast<int>(lanes_[other].size()) - 1}});
  plan({.lane = lane}, {}, std::move(waits), {});
}

/// Scratch is the same memory in every tile: what writes it first waits for the other lanes' last accesses in
/// the tile before.
void StagedSchedule::keep_scratch(Lanes& lanes) const {
  for (const auto& [cell, first] : first_writes_) {
    const Uses& uses = memory_.at(cell);
    std::vector<StepWait> waits;
    wait_for_all(uses.reads, first.lane, waits);
    wait_for_all(uses.writes, first.lane, waits);
    for (StepWait& wait : waits) wait.tile_before = true;
    auto& into = lanes[static_cast<size_t>(first.lane)][static_cast<size_t>(first.step)].waits;
    into.insert(into.end(), waits.begin(), waits.end());
  }
}

namespace {

/// Which Steps of other lanes are known to be done, as a lane goes on. A Step of this tile is after all of
/// the tile before.
class KnownSteps {
 public:
  /// Whether this has to be waited for, and is then known.
  bool learn(const StagedSchedule::StepPlace& on, bool tile_before) {
    if (tile_before && now_.contains(on.lane)) return false;
    const auto [known, is_new] = (tile_before ? before_ : now_).try_emplace(on.lane, on.step);
    if (!is_new && known->second >= on.step) return false;
    known->second = on.step;
    return true;
  }

 private:
  std::map<int, int> now_, before_;
};

}  // namespace

/// Removes waits for Steps before the first of their lane that does not vanish: nothing is there to wait for.
void StagedSchedule::drop_empty_waits(Lanes& lanes) {
  std::vector<size_t> begins;
  for (const auto& lane : lanes) {
    const auto first = std::ranges::find_if(
        lane, [](const Planned& one) { return does_something(one.move) || !one.waits.empty(); });
    begins.push_back(static_cast<size_t>(first - lane.begin()));
  }
  for (auto& lane : lanes)
    for (Planned& planned : lane)
      std::erase_if(planned.waits, [&](const StepWait& wait) {
        return static_cast<size_t>(wait.on.step) < begins[static_cast<size_t>(wait.on.lane)];
      });
}

Schedule StagedSchedule::build(int slot_chunks) const {
  Lanes lanes = lanes_;
  keep_scratch(lanes);
  drop_empty_waits(lanes);
  // A lane's place among those that have Steps, and what number each planned Step gets in it: that of the
  // Step before if it vanishes.
  std::vector<int> indices(lanes.size(), -1);
  std::vector<std::vector<int>> numbers(lanes.size());
  int used = 0;
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    KnownSteps known;
    int next = 0;
    for (auto& [move, waits] : lanes[lane]) {
      std::erase_if(waits, [&](const StepWait& wait) { return !known.learn(wait.on, wait.tile_before); });
      next += std::max(static_cast<int>(waits.size()), does_something(move) ? 1 : 0);
      numbers[lane].push_back(next - 1);
    }
    if (next != 0) indices[lane] = used++;
  }
  Schedule made(shape_, rank_, parts_);
  made.slot_chunks = slot_chunks;
  const auto add_step = [&](int index, Move move, const StepWait& wait) {
    const auto lane = static_cast<size_t>(wait.on.lane);
    move.after_lane = indices[lane];
    move.after_step = numbers[lane][static_cast<size_t>(wait.on.step)];
    move.after_tile_before = wait.tile_before;
    made.add(index, move);
  };
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    if (indices[lane] < 0) continue;
    for (const auto& [move, waits] : lanes[lane]) {
      // All but the last wait are Steps that only wait.
      for (const StepWait& wait : waits)
        add_step(indices[lane], &wait == &waits.back() ? move : Move(), wait);
      if (waits.empty() && does_something(move)) made.add(indices[lane], move);
    }
    made.lanes[static_cast<size_t>(indices[lane])].port = narrow(static_cast<int>(lane));
  }
  for (const auto& [cell, first] : first_writes_)
    made.scratch_chunks = std::max(made.scratch_chunks, cell.second + 1);
  return made;
}

}  // namespace rondo
