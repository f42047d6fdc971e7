// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <algorithm>
#include <set>

namespace rondo {
namespace {

bool overlap(int first_a, int first_b, int count_a, int count_b) {
  return first_a < first_b + count_b && first_b < first_a + count_a;
}

/// Whether `write` changes any of `count` chunks at `place`.
bool writes_to(const Shape& shape, const Schedule& schedule, const Step& write, Ref place, int count,
               bool in_place) {
  if (!write.has(kCopy)) return false;
  if (write.dst() == place.buffer) return overlap(write.dst_chunk, place.chunk, write.count, count);
  if (!in_place || write.dst() != Buffer::Output || place.buffer != Buffer::Input) return false;
  for (int i = 0; i < write.count; ++i) {
    const int alias =
        InPlace::input_of_output(shape, schedule.rank, schedule.chunks.parts, write.dst_chunk + i);
    if (alias >= place.chunk && alias < place.chunk + count) return true;
  }
  return false;
}

/// How many Steps read a chunk of the Output as it is before the call, which is an Input in place.
int readers_of_input(const Shape& shape, const Schedule& schedule, const Step& write) {
  int readers = 0;
  for (int i = 0; i < write.count; ++i) {
    const int alias =
        InPlace::input_of_output(shape, schedule.rank, schedule.chunks.parts, write.dst_chunk + i);
    int of_chunk = 0;
    for (const Lane& lane : schedule.lanes)
      for (const Step& step : lane.steps)
        of_chunk +=
            step.src() == Buffer::Input && step.src_chunk <= alias && alias < step.src_chunk + step.count;
    readers = std::max(readers, of_chunk);
  }
  return readers;
}

/// Whether the Step is the only one that writes to its place in the Output, so that others can only read what
/// it has put there. In place, others may need what was there: the sum of an all-reduce cannot come before
/// this rank has read its own part of it, unless it reads that twice.
bool may_land_early(const Shape& shape, const Schedule& schedule, size_t lane, size_t index, bool in_place) {
  const Step& write = schedule.lanes[lane].steps[index];
  if (!write.has(kRecv) || !write.has(kCopy) || write.dst() != Buffer::Output) return false;
  for (size_t l = 0; l < schedule.lanes.size(); ++l)
    for (size_t i = 0; i < schedule.lanes[l].steps.size(); ++i)
      if ((l != lane || i != index) && writes_to(shape, schedule, schedule.lanes[l].steps[i],
                                                 {Buffer::Output, write.dst_chunk}, write.count, false))
        return false;
  const int readers = in_place ? readers_of_input(shape, schedule, write) : 0;
  return readers == 0 || (readers == 1 && shape.kind == CollectiveKind::AllReduce);
}

/// Whether what (lane, index) sends has been read by the time that `write` changes it. A part of an
/// all-reduce in place that leaves this rank once, to one peer, is in the sum that comes back there.
bool is_read_before(const Shape& shape, const Schedule& schedule, const Step& sent, size_t lane,
                    size_t index) {
  return Program::value_place(sent).buffer == Buffer::Input &&
         schedule.peer_sets[sent.send_set].size() == 1 && may_land_early(shape, schedule, lane, index, true);
}

/// Whether the value that (lane, index) sends remains in place until it has been read: no later Step of its
/// lane and no Step of another lane overwrites it. Never in Scratch, which the next tile reuses.
bool stays(const Shape& shape, const Schedule& schedule, size_t lane, size_t index, bool in_place) {
  const Step& step = schedule.lanes[lane].steps[index];
  const Ref place = Program::value_place(step);
  if (!step.has(kSend) || place.buffer == Buffer::None || place.buffer == Buffer::Scratch) return false;
  for (size_t l = 0; l < schedule.lanes.size(); ++l) {
    const auto& steps = schedule.lanes[l].steps;
    for (size_t i = l == lane ? index + 1 : 0; i < steps.size(); ++i)
      if (writes_to(shape, schedule, steps[i], place, step.count, in_place) &&
          !(in_place && is_read_before(shape, schedule, step, l, i)))
        return false;
  }
  return true;
}

/// Whether `write` writes to the Output what no Step reads from there.
bool settled(const Schedule& schedule, const Step& write) {
  if (!write.has(kCopy) || write.dst() != Buffer::Output) return false;
  for (const Lane& lane : schedule.lanes)
    for (const Step& step : lane.steps)
      if (step.src() == Buffer::Output && overlap(step.src_chunk, write.dst_chunk, step.count, write.count))
        return false;
  return true;
}

/// judge(lane, index) for every Step.
template <typename Judge>
std::vector<std::vector<bool>> of_steps(const Schedule& schedule, const Judge& judge) {
  std::vector<std::vector<bool>> all(schedule.lanes.size());
  for (size_t lane = 0; lane < schedule.lanes.size(); ++lane)
    for (size_t i = 0; i < schedule.lanes[lane].steps.size(); ++i) all[lane].push_back(judge(lane, i));
  return all;
}

std::vector<std::vector<bool>> stable_steps(const Shape& shape, const Schedule& schedule, bool in_place) {
  return of_steps(schedule, [&](size_t lane, size_t i) { return stays(shape, schedule, lane, i, in_place); });
}

std::vector<std::vector<bool>> early_steps(const Shape& shape, const Schedule& schedule, bool in_place) {
  return of_steps(schedule,
                  [&](size_t lane, size_t i) { return may_land_early(shape, schedule, lane, i, in_place); });
}

std::vector<std::vector<bool>> settled_steps(const Schedule& schedule) {
  return of_steps(schedule,
                  [&](size_t lane, size_t i) { return settled(schedule, schedule.lanes[lane].steps[i]); });
}

}  // namespace

Ref Program::value_place(const Step& step) {
  const bool is_input = !step.has(kRecv) && !step.has(kFinish) && step.src() == Buffer::Input;
  if (step.has(kCopy) && !is_input) return {step.dst(), step.dst_chunk};
  if (step.has(kRecv)) return {};
  return {step.src(), step.src_chunk};
}

Program::Program(const Shape& shape, Schedule schedule)
    : schedule_(std::move(schedule)),
      connections_(schedule_.lanes.size() * schedule_.peer_sets.size()),
      stable_(stable_steps(shape, schedule_, false)),
      stable_in_place_(stable_steps(shape, schedule_, true)),
      early_(early_steps(shape, schedule_, false)),
      early_in_place_(early_steps(shape, schedule_, true)),
      settled_(settled_steps(schedule_)) {
  for (size_t i = 0; i < connections_.size(); ++i)
    connections_[i].resize(schedule_.peer_sets[i % schedule_.peer_sets.size()].size());
}

std::vector<int> Program::peers_of(size_t lane) const {
  std::set<int> peers;
  for (const Step& step : schedule_.lanes[lane].steps) {
    for (uint16_t set : {step.recv_set, step.send_set})
      if (set != Step::kNone) peers.insert(schedule_.peer_sets[set].begin(), schedule_.peer_sets[set].end());
  }
  std::erase_if(peers, [&](int member) { return !schedule_.is_peer(member); });
  return {peers.begin(), peers.end()};
}

void Program::adopt(size_t lane, int peer, Connection* connection) {
  all_.push_back(connection);
  if (ZeroCopy* const zero_copy = connection->zero_copy()) {
    if (posts(lane, peer, false)) posting_.push_back(zero_copy);
    if (posts(lane, peer, true)) posting_in_place_.push_back(zero_copy);
  }
  for (size_t set = 0; set < schedule_.peer_sets.size(); ++set) {
    const auto& ranks = schedule_.peer_sets[set];
    for (size_t i = 0; i < ranks.size(); ++i)
      if (ranks[i] == peer) connections_[lane * schedule_.peer_sets.size() + set][i] = connection;
  }
}

bool Program::posts(size_t lane, int peer, bool in_place) const {
  const auto& steps = schedule_.lanes[lane].steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    if (!stable(lane, i, in_place)) continue;
    const auto& ranks = schedule_.peer_sets[steps[i].send_set];
    if (std::find(ranks.begin(), ranks.end(), peer) != ranks.end()) return true;
  }
  return false;
}

size_t Program::slot_bytes() const {
  size_t least = 0;
  for (const Connection* connection : all_)
    least = least == 0 ? connection->slot_bytes() : std::min(least, connection->slot_bytes());
  return least;
}

}  // namespace rondo
