#include "exec/rounds.h"

#include <algorithm>

namespace rondo {
namespace {

bool is_mutual(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::AllGather ||
         kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::AllToAll ||
         kind == CollectiveKind::Barrier;
}

constexpr int kMostRounds = 2;

bool begins_round(const Step& step) {
  return step.has(kSend) && !step.has(kRecv) && !step.has(kCopy) && step.src() == Buffer::Output;
}

/// Where a buffer has several chunks, a rank's are those of its number. So what a peer sends is known without
/// its Schedule, of which there are as many as ranks.
int chunk_of(int rank, int chunks) { return chunks == 1 ? 0 : rank; }

/// What the rank hears of a peer: in the first round the chunk of the peer's Input that is for it, in the
/// second the peer's chunk of the Output.
int heard_chunk(const Schedule& own, int peer, bool first) {
  return first ? chunk_of(own.rank, own.input_chunks) : chunk_of(peer, own.output_chunks);
}

/// Whether what the Step sends is what those who get it take it for.
bool sends_what_is_heard(const Schedule& own, const Step& step, bool first) {
  const auto& peers = own.peer_sets[step.send_set];
  return std::all_of(peers.begin(), peers.end(), [&](int to) {
    return step.src_chunk == (first ? chunk_of(to, own.input_chunks) : chunk_of(own.rank, own.output_chunks));
  });
}

}  // namespace

Rounds rounds_of(CollectiveKind kind, const Schedule& own) {
  Rounds rounds{.chunks = {own.input_chunks, own.output_chunks}, .all = {{.mutual = is_mutual(kind)}}};
  for (const Lane& lane : own.lanes) {
    for (const Step& step : lane.steps) {
      if (begins_round(step)) rounds.all.push_back({.posted = step.src_chunk, .mutual = is_mutual(kind)});
      Round& round = rounds.all.back();
      round.posts = round.posts || step.has(kSend);
      if (!step.has(kCopy)) continue;
      Round::Read read{.dst = step.dst_chunk, .sources = {}, .finish = step.has(kFinish)};
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
      if (step.count != 1 || !has_source || !has_use) return 0;
    }
  return rounds <= kMostRounds ? rounds : 0;
}

}  // namespace rondo
