// SPDX-License-Identifier: Apache-2.0
#include "structure.h"

#include <algorithm>

#include "chunk_rules.h"

namespace rondo {
namespace {

template <typename... Args>
Status wrong(fmt::format_string<Args...> format, Args&&... args) {
  return error(Code::InternalError, format, std::forward<Args>(args)...);
}

int chunks_in(const Schedule& schedule, Buffer buffer) {
  switch (buffer) {
    case Buffer::Input: return schedule.chunks.input;
    case Buffer::Output: return schedule.chunks.output;
    case Buffer::Scratch: return schedule.scratch_chunks;
    case Buffer::None: break;
  }
  return 0;
}

Status check_chunks(const Schedule& schedule, const Step& step, Buffer buffer, int first, const char* role) {
  if (buffer > Buffer::Scratch) return wrong("its {} is buffer {}", role, static_cast<int>(buffer));
  if (buffer == Buffer::None) return wrong("it has no {}", role);
  if (first + step.count > chunks_in(schedule, buffer))
    return wrong("its {} ends at chunk {}, but there are {}", role, first + step.count - 1,
                 chunks_in(schedule, buffer));
  return {};
}

Status check_set(const Schedule& schedule, uint16_t index, bool own_allowed, const char* role) {
  if (index >= schedule.peer_sets.size()) return wrong("its {} set {} is not there", role, index);
  std::vector<int> set = schedule.peer_sets[index];
  std::sort(set.begin(), set.end());
  if (set.empty() || set.back() >= schedule.nranks || (set.front() < 0 && !own_allowed))
    return wrong("its {} set {} names ranks that are not there", role, index);
  if (std::adjacent_find(set.begin(), set.end()) != set.end())
    return wrong("its {} set {} names a rank twice", role, index);
  if (!own_allowed && std::binary_search(set.begin(), set.end(), schedule.rank))
    return wrong("its {} set {} names its own rank", role, index);
  return {};
}

Status check_receive(const Schedule& schedule, const Step& step) {
  if (step.has(kRecv) != (step.recv_set != Step::kNone)) return wrong("recv and its set do not go together");
  if (!step.has(kRecv)) return step.has(kReduce) ? wrong("it reduces without receiving") : Status{};
  RONDO_TRY(check_set(schedule, step.recv_set, step.has(kReduce), "receive"));
  const auto& set = schedule.peer_sets[step.recv_set];
  for (const int member : set)
    if (is_scratch_operand(member))
      RONDO_TRY(check_chunks(schedule, step, Buffer::Scratch, chunk_of_operand(member), "operand"));
  const bool own = std::find(set.begin(), set.end(), schedule.rank) != set.end();
  if (own != step.has_source()) return wrong("its own rank and its source do not go together");
  if (step.has(kReduce) && set.size() < 2) return wrong("it reduces what one rank gives");
  if (!step.has(kReduce) && set.size() != 1)
    return wrong("it receives from {} ranks without reducing", set.size());
  return {};
}

Status check_wait(const Schedule& schedule, size_t lane, const Step& step) {
  if (step.wait_lane == Step::kNone) return {};
  if (step.wait_lane >= schedule.lanes.size() || step.wait_lane == lane)
    return wrong("it waits for lane {}", step.wait_lane);
  if (step.wait_step >= schedule.lanes[step.wait_lane].steps.size())
    return wrong("it waits for step {} of lane {}, which is not there", step.wait_step, step.wait_lane);
  return {};
}

Status check_destination(const Shape& shape, const Schedule& schedule, const Step& step) {
  if (step.has(kCopy) != (step.dst() != Buffer::None))
    return wrong("copy and its destination do not go together");
  if (!step.has(kCopy)) return {};
  RONDO_TRY(check_chunks(schedule, step, step.dst(), step.dst_chunk, "destination"));
  if (step.dst() == Buffer::Input) return wrong("it writes to the input");
  if (step.dst() == Buffer::Output && !traits(shape.kind).has_result(schedule.rank, shape.root))
    return wrong("it writes to the output of rank {}, which has no result", schedule.rank);
  return {};
}

/// The executor takes a Step's length from its destination, else from its source; both ends must agree on it.
Status check_lengths(const Shape& shape, const Schedule& schedule, const Step& step) {
  for (int i = 0; i < step.count; ++i) {
    const bool sourced = step.has_source();
    const int from = sourced ? length_class(shape, schedule, step.src(), step.src_chunk + i) : 0;
    const int to = step.has(kCopy) ? length_class(shape, schedule, step.dst(), step.dst_chunk + i) : 0;
    if (from < 0 || to < 0) return wrong("rank {} does not know how long its chunk is", schedule.rank);
    if (sourced && step.has(kCopy) && from != to) return wrong("source and destination can differ in length");
  }
  return {};
}

Status check_step(const Shape& shape, const Schedule& schedule, size_t lane, const Step& step) {
  if (step.verbs >= 2 * kBefore) return wrong("it has unknown verbs {}", step.verbs);
  if (step.count == 0) return wrong("it moves no chunk");
  if (step.count > schedule.slot_chunks)
    if (step.has(kRecv) || step.has(kSend))
      return wrong("it moves {} chunks in a slot for {}", step.count, schedule.slot_chunks);
  if (step.has(kReduce) && !reduces(shape.kind)) return wrong("it reduces in a collective that does not");
  if (step.has(kFinish) && !traits(shape.kind).finishes())
    return wrong("it finishes in a collective that does not");
  if (step.has(kBefore) && step.wait_lane == Step::kNone) return wrong("it waits for no lane");
  if (!step.has(kRecv) && !step.has(kCopy) && !step.has(kSend))
    return step.wait_lane == Step::kNone ? wrong("it does nothing") : check_wait(schedule, lane, step);
  RONDO_TRY(check_receive(schedule, step));
  if (step.has(kSend) != (step.send_set != Step::kNone)) return wrong("send and its set do not go together");
  if (step.has(kSend)) RONDO_TRY(check_set(schedule, step.send_set, false, "send"));
  if (!step.has(kRecv) || step.has_source())
    RONDO_TRY(check_chunks(schedule, step, step.src(), step.src_chunk, "source"));
  if (!step.has_source() && !step.has(kCopy))
    return wrong("it receives, but has no place that says how much");
  RONDO_TRY(check_destination(shape, schedule, step));
  RONDO_TRY(check_lengths(shape, schedule, step));
  return check_wait(schedule, lane, step);
}

Status check_lanes(const Schedule& schedule) {
  std::vector<uint16_t> ports;
  for (const Lane& lane : schedule.lanes) {
    if (lane.steps.size() >= Step::kNone)
      return wrong("rank {} has {} steps in a lane", schedule.rank, lane.steps.size());
    if (std::find(ports.begin(), ports.end(), lane.port) != ports.end())
      return wrong("two lanes of rank {} share port {}", schedule.rank, lane.port);
    ports.push_back(lane.port);
  }
  return {};
}

Status check_agreement(const Shape& shape, const std::vector<Schedule>& ranks, int rank) {
  const Schedule& schedule = ranks[static_cast<size_t>(rank)];
  const Schedule& first = ranks.front();
  const Chunks expected = chunks_of(shape, first.chunks.parts);
  if (schedule.nranks != shape.nranks || schedule.rank != rank)
    return wrong("the schedule of rank {} is one of rank {} of {}", rank, schedule.rank, schedule.nranks);
  if (schedule.chunks != expected)
    return wrong("rank {} has {} input and {} output chunks, {} a block, instead of {} and {}, {} a block",
                 rank, schedule.chunks.input, schedule.chunks.output, schedule.chunks.parts, expected.input,
                 expected.output, expected.parts);
  if (schedule.slot_chunks != first.slot_chunks)
    return wrong("rank {} has slots for {} chunks and rank 0 for {}", rank, schedule.slot_chunks,
                 first.slot_chunks);
  return {};
}

}  // namespace

std::string place_of(const Schedule& schedule, size_t lane, size_t step) {
  return fmt::format("rank {} lane {} step {} ({})", schedule.rank, lane, step,
                     to_string(schedule, schedule.lanes[lane].steps[step]));
}

Status check_structure(const Shape& shape, const std::vector<Schedule>& ranks) {
  if (shape.nranks < 1 || ranks.size() != static_cast<size_t>(shape.nranks))
    return wrong("{} schedules for {} ranks", ranks.size(), shape.nranks);
  if (has_root(shape.kind) && (shape.root < 0 || shape.root >= shape.nranks))
    return wrong("root {} of {} ranks", shape.root, shape.nranks);
  for (int rank = 0; rank < shape.nranks; ++rank) {
    const Schedule& schedule = ranks[static_cast<size_t>(rank)];
    RONDO_TRY(check_agreement(shape, ranks, rank));
    RONDO_TRY(check_lanes(schedule));
    for (size_t lane = 0; lane < schedule.lanes.size(); ++lane)
      for (size_t i = 0; i < schedule.lanes[lane].steps.size(); ++i)
        if (Status status = check_step(shape, schedule, lane, schedule.lanes[lane].steps[i]); !status.ok())
          return status.within(fmt::format("rank {} lane {} step {}", rank, lane, i));
  }
  return {};
}

}  // namespace rondo
