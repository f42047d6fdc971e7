// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

namespace rondo {
namespace {

/// Builders get only shapes that their supports() accepts: a value out of range is a bug in the builder.
uint16_t narrow(int value) {
  if (value < 0 || value >= Step::kNone) {
    fmt::print(stderr, "rondo: a schedule holds {}, which does not fit 16 bits\n", value);
    std::abort();
  }
  return static_cast<uint16_t>(value);
}

uint16_t intern(std::vector<std::vector<uint16_t>>& sets, const std::vector<int>& ranks) {
  if (ranks.empty()) return Step::kNone;
  std::vector<uint16_t> wanted;
  for (int rank : ranks) wanted.push_back(narrow(rank));
  const auto found = std::find(sets.begin(), sets.end(), wanted);
  if (found != sets.end()) return narrow(static_cast<int>(found - sets.begin()));
  sets.push_back(std::move(wanted));
  return narrow(static_cast<int>(sets.size()) - 1);
}

uint8_t verbs_of(const Move& move, bool receives) {
  return static_cast<uint8_t>((receives ? kRecv : 0) | (move.recv.size() > 1 ? kReduce : 0) |
                              (move.dst.buffer == Buffer::None ? 0 : kCopy) |
                              (move.send.empty() ? 0 : kSend) | (move.finish ? kFinish : 0));
}

std::string chunk_text(Buffer buffer, int first, int count) {
  static constexpr const char* names[] = {"nothing", "input", "output", "scratch"};
  const char* name = names[static_cast<int>(buffer)];
  return count == 1 ? fmt::format("{}[{}]", name, first)
                    : fmt::format("{}[{}..{}]", name, first, first + count - 1);
}

}  // namespace

Chunks chunks_of(const Shape& shape, int parts) {
  const CollectiveTraits& kind = traits(shape.kind);
  if (!kind.has_blocks()) return {parts, parts};
  return {kind.sends_blocks() ? shape.nranks : 1, kind.receives_blocks() ? shape.nranks : 1};
}

Schedule::Schedule(const Shape& shape, int own_rank, int parts, int scratch)
    : nranks(shape.nranks), rank(own_rank), scratch_chunks(scratch) {
  const Chunks chunks = chunks_of(shape, parts);
  input_chunks = chunks.input;
  output_chunks = chunks.output;
}

int Schedule::add(int lane, const Move& move) {
  while (static_cast<int>(lanes.size()) <= lane)
    lanes.push_back(Lane{narrow(static_cast<int>(lanes.size())), {}});
  const bool alone = move.recv.size() == 1 && move.recv[0] == rank;
  const bool receives = !move.recv.empty() && !alone;
  Step step;
  step.verbs = verbs_of(move, receives);
  step.buffers =
      static_cast<uint8_t>(static_cast<int>(move.src.buffer) | static_cast<int>(move.dst.buffer) << 4);
  step.count = narrow(move.count);
  step.src_chunk = narrow(move.src.chunk);
  step.dst_chunk = narrow(move.dst.chunk);
  if (receives) step.recv_set = intern(peer_sets, move.recv);
  step.send_set = intern(peer_sets, move.send);
  if (move.after_lane >= 0) {
    step.wait_lane = narrow(move.after_lane);
    step.wait_step = narrow(move.after_step);
  }
  auto& steps = lanes[static_cast<size_t>(lane)].steps;
  steps.push_back(step);
  return static_cast<int>(steps.size()) - 1;
}

std::string to_string(const Schedule& schedule, const Step& step) {
  std::string text;
  if (step.has(kRecv)) {
    std::vector<std::string> operands;
    for (int peer : schedule.peer_sets[step.recv_set])
      operands.push_back(peer == schedule.rank ? chunk_text(step.src(), step.src_chunk, step.count)
                                               : fmt::format("recv {}", peer));
    text = fmt::format("{}", fmt::join(operands, " + "));
  } else {
    text = chunk_text(step.src(), step.src_chunk, step.count);
  }
  if (step.has(kFinish)) text += ", finish";
  if (step.has(kCopy)) text += " -> " + chunk_text(step.dst(), step.dst_chunk, step.count);
  if (step.has(kSend)) text += fmt::format(", send {}", fmt::join(schedule.peer_sets[step.send_set], " "));
  if (step.wait_lane != Step::kNone) text += fmt::format(", after ({}, {})", step.wait_lane, step.wait_step);
  return text;
}

std::string to_string(const Schedule& schedule) {
  std::string text;
  for (size_t lane = 0; lane < schedule.lanes.size(); ++lane)
    for (size_t i = 0; i < schedule.lanes[lane].steps.size(); ++i)
      text += fmt::format("rank {} lane {} step {}: {}\n", schedule.rank, lane, i,
                          to_string(schedule, schedule.lanes[lane].steps[i]));
  return text;
}

int InPlace::input_of_output(const Shape& shape, int rank, int output_chunk) {
  const CollectiveTraits& kind = traits(shape.kind);
  if (kind.sends == kind.receives) return output_chunk;
  if (!kind.reads(rank, shape.root) || !kind.writes(rank, shape.root)) return -1;
  if (kind.sends_blocks()) return rank;
  return output_chunk == rank ? 0 : -1;
}

}  // namespace rondo
