// SPDX-License-Identifier: Apache-2.0
#include "schedule/schedule.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdlib>

#include "narrow.h"

namespace rondo {
namespace {

uint8_t verbs_of(const Move& move, bool receives) {
  return static_cast<uint8_t>((receives ? kRecv : 0) | (move.recv.size() > 1 ? kReduce : 0) |
                              (move.dst.buffer == Buffer::None ? 0 : kCopy) |
                              (move.send.empty() ? 0 : kSend) | (move.finish ? kFinish : 0) |
                              (move.after_tile_before ? kBefore : 0));
}

std::string chunk_text(Buffer buffer, int first, int count) {
  static constexpr const char* names[] = {"nothing", "input", "output", "scratch"};
  const char* name = names[static_cast<int>(buffer)];
  return count == 1 ? fmt::format("{}[{}]", name, first)
                    : fmt::format("{}[{}..{}]", name, first, first + count - 1);
}

}  // namespace

uint16_t narrow(int value) {
  if (value < 0 || value >= Step::kNone) {
    fmt::print(stderr, "rondo: a schedule holds {}, which does not fit 16 bits\n", value);
    std::abort();
  }
  return static_cast<uint16_t>(value);
}

Chunks chunks_of(const Shape& shape, int parts) {
  const CollectiveTraits& kind = traits(shape.kind);
  return {.input = kind.sends_blocks() ? shape.nranks * parts : parts,
          .output = kind.receives_blocks() ? shape.nranks * parts : parts,
          .parts = parts};
}

Schedule::Schedule(const Shape& shape, int own_rank, int parts, int scratch)
    : nranks(shape.nranks), rank(own_rank), chunks(chunks_of(shape, parts)), scratch_chunks(scratch) {}

uint16_t Schedule::intern(const std::vector<int>& ranks) {
  if (ranks.empty()) return Step::kNone;
  const auto found = std::find(peer_sets.begin(), peer_sets.end(), ranks);
  if (found != peer_sets.end()) return narrow(static_cast<int>(found - peer_sets.begin()));
  peer_sets.push_back(ranks);
  return narrow(static_cast<int>(peer_sets.size()) - 1);
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
  if (receives) step.recv_set = intern(move.recv);
  step.send_set = intern(move.send);
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
                         : is_scratch_operand(peer)
                             ? chunk_text(Buffer::Scratch, chunk_of_operand(peer), step.count)
                             : fmt::format("recv {}", peer));
    text = fmt::format("{}", fmt::join(operands, " + "));
  } else {
    text = step.has_source() ? chunk_text(step.src(), step.src_chunk, step.count) : "wait";
  }
  if (step.has(kFinish)) text += ", finish";
  if (step.has(kCopy)) text += " -> " + chunk_text(step.dst(), step.dst_chunk, step.count);
  if (step.has(kSend)) text += fmt::format(", send {}", fmt::join(schedule.peer_sets[step.send_set], " "));
  if (step.wait_lane != Step::kNone)
    text += fmt::format(", after ({}, {}){}", step.wait_lane, step.wait_step,
                        step.has(kBefore) ? " of the tile before" : "");
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

int InPlace::input_of_output(const Shape& shape, int rank, int parts, int output_chunk) {
  const CollectiveTraits& kind = traits(shape.kind);
  if (kind.sends == kind.receives) return output_chunk;
  if (!kind.reads(rank, shape.root) || !kind.writes(rank, shape.root)) return -1;
  if (kind.sends_blocks()) return rank * parts + output_chunk;
  return output_chunk / parts == rank ? output_chunk % parts : -1;
}

}  // namespace rondo
