// SPDX-License-Identifier: Apache-2.0
#include "schedule/pull_plan.h"

#include <algorithm>

namespace rondo {
namespace {

constexpr int kMaxRounds = 2;

bool folds_scratch(const Schedule& own, const Step& step) {
  return step.has(kRecv) && std::ranges::any_of(own.peer_sets[step.recv_set], is_scratch_operand);
}

bool begins_round(const Step& step) {
  return step.has(kSend) && !step.has(kRecv) && !step.has(kCopy) && step.src() == Buffer::Output;
}

/// If a buffer has several chunks, chunk r belongs to rank r. So the chunk that a peer sends is known without
/// building the peer's Schedule.
int chunk_of(int rank, int chunks) { return chunks == 1 ? 0 : rank; }

/// The chunk that the rank receives from a peer: in the first round the chunk of the peer's Input meant for
/// this rank, in the second the peer's chunk of the Output.
int heard_chunk(const Schedule& own, int peer, bool first) {
  return first ? chunk_of(own.rank, own.chunks.input) : chunk_of(peer, own.chunks.output);
}

/// Whether the Step sends the chunk that its receivers assume (see heard_chunk()).
bool sends_what_is_heard(const Schedule& own, const Step& step, bool first) {
  const auto& peers = own.peer_sets[step.send_set];
  return std::all_of(peers.begin(), peers.end(), [&](int to) {
    return step.src_chunk == (first ? chunk_of(to, own.chunks.input) : chunk_of(own.rank, own.chunks.output));
  });
}

}  // namespace

PullPlan pull_plan_of(CollectiveKind kind, const Schedule& own) {
  PullPlan rounds{.chunks = own.chunks, .all = {{.mutual = traits(kind).is_mutual()}}};
  for (const Lane& lane : own.lanes) {
    for (const Step& step : lane.steps) {
      if (begins_round(step))
        rounds.all.push_back({.posted = step.src_chunk, .mutual = traits(kind).is_mutual()});
      PullRound& round = rounds.all.back();
      round.posts = round.posts || step.has(kSend);
      if (!step.has(kCopy)) continue;
      PullRound::Gather read{.dst = step.dst_chunk, .sources = {}, .finish = step.has(kFinish)};
      if (!step.has(kRecv)) {
        read.sources.push_back({own.rank, step.src_chunk});
      } else {
        for (const int peer : own.peer_sets[step.recv_set])
          read.sources.push_back(
              {peer, peer == own.rank ? step.src_chunk : heard_chunk(own, peer, rounds.all.size() == 1)});
      }
      round.reads.push_back(std::move(read));
    }
  }
  return rounds;
}

int count_rounds(const Schedule& schedule) {
  if (schedule.lanes.size() > 1) return 0;
  const Chunks& chunks = schedule.chunks;
  if (chunks.parts > 1 && chunks.parts != std::max(chunks.input, chunks.output)) return 0;
  int rounds = 1;
  for (const Lane& lane : schedule.lanes)
    for (const Step& step : lane.steps) {
      const bool begins = begins_round(step);
      rounds += begins ? 1 : 0;
      const bool has_source =
          step.src() == Buffer::None || (step.src() == Buffer::Input ? rounds == 1 : begins);
      const bool keeps = step.has(kCopy) && step.dst() == Buffer::Output;
      const bool has_use =
          step.has(kSend) ? !step.has(kRecv) && sends_what_is_heard(schedule, step, rounds == 1) : keeps;
      if (step.count != 1 || !has_source || !has_use || folds_scratch(schedule, step)) return 0;
    }
  return rounds <= kMaxRounds ? rounds : 0;
}

}  // namespace rondo
