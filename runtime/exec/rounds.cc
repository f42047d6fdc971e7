#include "exec/rounds.h"

#include <algorithm>
#include <map>

namespace rondo {
namespace {

bool contains(const std::vector<uint16_t>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

bool is_mutual(CollectiveKind kind) {
  return kind == CollectiveKind::AllReduce || kind == CollectiveKind::AllGather ||
         kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::AllToAll ||
         kind == CollectiveKind::Barrier;
}

constexpr int kMostRounds = 2;

bool begins_round(const Step& step) {
  return step.has(kSend) && !step.has(kRecv) && !step.has(kCopy) && step.src() == Buffer::Output;
}

/// The chunks that a rank sends to another, in their order.
std::vector<int> sent_chunks(const Schedule& schedule, int to) {
  std::vector<int> chunks;
  for (const Lane& lane : schedule.lanes)
    for (const Step& step : lane.steps)
      if (step.has(kSend) && contains(schedule.peer_sets[step.send_set], to))
        chunks.push_back(step.src_chunk);
  return chunks;
}

/// Takes messages of each peer in the order in which that peer's Schedule sends them.
class Arrivals {
 public:
  Arrivals(const Shape& shape, int rank, Schedule (*build)(const Shape&, int))
      : shape_(shape), rank_(rank), build_(build) {}

  Round::Source next(int peer) {
    auto found = left_.find(peer);
    if (found == left_.end()) {
      std::vector<int> chunks = sent_chunks(build_(shape_, peer), rank_);
      std::reverse(chunks.begin(), chunks.end());
      found = left_.emplace(peer, std::move(chunks)).first;
    }
    const int chunk = found->second.back();
    found->second.pop_back();
    return {peer, chunk};
  }

 private:
  const Shape& shape_;
  int rank_;
  Schedule (*build_)(const Shape&, int);
  std::map<int, std::vector<int>> left_;  // by peer, the next one last
};

}  // namespace

Rounds rounds_of(const Shape& shape, int rank, Schedule (*build)(const Shape& shape, int rank)) {
  const Schedule own = build(shape, rank);
  Arrivals arrivals(shape, rank, build);
  Rounds rounds{.chunks = {own.input_chunks, own.output_chunks}, .all = {{.mutual = is_mutual(shape.kind)}}};
  for (const Lane& lane : own.lanes) {
    for (const Step& step : lane.steps) {
      if (begins_round(step))
        rounds.all.push_back({.posted = step.src_chunk, .mutual = is_mutual(shape.kind)});
      Round& round = rounds.all.back();
      round.posts = round.posts || step.has(kSend);
      if (!step.has(kCopy)) continue;
      Round::Read read{.dst = step.dst_chunk, .sources = {}, .finish = step.has(kFinish)};
      if (!step.has(kRecv)) {
        read.sources.push_back({rank, step.src_chunk});
      } else {
        for (const int peer : own.peer_sets[step.recv_set])
          read.sources.push_back(peer == rank ? Round::Source{rank, step.src_chunk} : arrivals.next(peer));
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
      const bool has_use = step.has(kSend) ? !step.has(kRecv) : keeps;
      if (step.count != 1 || !has_source || !has_use) return 0;
    }
  return rounds <= kMostRounds ? rounds : 0;
}

}  // namespace rondo
