// SPDX-License-Identifier: Apache-2.0
#include "synthesis/proved.h"

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <vector>

#include "base/error_kinds.h"
#include "base/log.h"
#include "schedule/verifier.h"
#include "synthesis/schedule_cost.h"

namespace rondo {
namespace {

constexpr size_t kMaxChunks = 100'000;
constexpr size_t kMaxOfFewLanes = 4'000'000;
constexpr size_t kMaxStepsOfFewLanes = 130'000;

/// What time and memory of a proof grow with: the chunks that the Steps of all ranks move, and those of
/// inputs and outputs.
size_t chunks_of(const std::vector<Schedule>& ranks) {
  size_t chunks = 0;
  for (const Schedule& schedule : ranks) {
    chunks += static_cast<size_t>(schedule.chunks.input + schedule.chunks.output);
    for (const Lane& lane : schedule.lanes)
      for (const Step& step : lane.steps) chunks += step.count;
  }
  return chunks;
}

/// Whether there are so few lanes that their order takes little memory, however many chunks their Steps move.
bool has_few_lanes(const std::vector<Schedule>& ranks) {
  size_t steps = 0, lanes = 0;
  for (const Schedule& schedule : ranks) {
    lanes += schedule.lanes.size();
    for (const Lane& lane : schedule.lanes) steps += lane.steps.size();
  }
  return steps <= kMaxStepsOfFewLanes && (steps + lanes) * lanes <= kMaxOfFewLanes;
}

class Proof {
 public:
  Proof(const Algorithm& algorithm, bool is_verified)
      : is_verified_(is_verified),
        name_(algorithm.name),
        slots_(algorithm.slots),
        in_place_(algorithm.in_place),
        supports_(algorithm.supports),
        build_(algorithm.build) {}

  bool holds(const Shape& shape) {
    if (!supports_(shape)) return false;
    const std::lock_guard lock(mutex_);
    return entry(shape).verifies;
  }
  Cost cost(const Shape& shape) {
    const std::lock_guard lock(mutex_);
    return entry(shape).cost;
  }

 private:
  struct ProofEntry {
    bool verifies = false;
    Cost cost;
  };

  const ProofEntry& entry(const Shape& shape) {
    const auto [place, is_new] = entries_.try_emplace({shape.nranks, shape.root, shape.varying});
    ProofEntry& made = place->second;
    if (!is_new) return made;
    std::vector<Schedule> ranks;
    for (int rank = 0; rank < shape.nranks; ++rank) ranks.push_back(build_(shape, rank));
    const Status status = check(shape, ranks);
    made.verifies = status.ok();
    if (made.verifies)
      made.cost = cost_of(shape, ranks, std::max(slots_, 2));
    else
      log().warn("{} by {} is not used: {}", collective_name(shape.kind), name_, status.text());
    return made;
  }

  Status check(const Shape& shape, const std::vector<Schedule>& ranks) const {
    if (is_verified_ && shape.root == 0 && !shape.varying) return {};
    RONDO_TRY(prove(shape, ranks, slots_, false));
    return in_place_ ? prove(shape, ranks, slots_, true) : Status();
  }

  const bool is_verified_;
  const char* const name_;
  const int slots_;
  const bool in_place_;
  const std::function<bool(const Shape&)> supports_;
  const std::function<Schedule(const Shape&, int)> build_;
  std::mutex mutex_;
  std::map<std::tuple<int, int, bool>, ProofEntry> entries_;
};

class ScheduleHash {
 public:
  void add(uint64_t value) {
    value_ ^= value;
    value_ *= 0x9e3779b97f4a7c15u;
    value_ ^= value_ >> 29;
  }
  void add(const Schedule& schedule) {
    for (const int number : {schedule.chunks.input, schedule.chunks.output, schedule.chunks.parts,
                             schedule.scratch_chunks, schedule.slot_chunks})
      add(static_cast<uint64_t>(number));
    for (const Lane& lane : schedule.lanes) {
      add(lane.port);
      for (const Step& step : lane.steps) add(step);
    }
    for (const auto& set : schedule.peer_sets) {
      add(set.size());
      for (const int peer : set) add(static_cast<uint64_t>(peer));
    }
  }
  /// Never 0.
  uint64_t value() const { return value_ | 1; }

 private:
  void add(const Step& step) {
    for (const uint16_t field : {step.count, step.src_chunk, step.dst_chunk, step.recv_set, step.send_set,
                                 step.wait_lane, step.wait_step})
      add(uint64_t{field});
    add(uint64_t{step.verbs} << 8 | step.buffers);
  }

  uint64_t value_ = 0x726f6e646f;
};

}  // namespace

Status prove(const Shape& shape, const std::vector<Schedule>& ranks, int slots, bool in_place) {
  const bool limited = !has_few_lanes(ranks);
  if (const size_t chunks = chunks_of(ranks); limited && chunks > kMaxChunks)
    return error(ErrorKind::TooLargeToVerify,
                 "it is too large to be verified: {} chunks of its buffers and steps, of at most {}", chunks,
                 kMaxChunks);
  for (const uint32_t short_chunks : {0u, 1u, 2u, 3u})
    RONDO_TRY(verify(shape, ranks,
                     {.slots = slots,
                      .tiles = 2,
                      .in_place = in_place,
                      .short_chunks = short_chunks,
                      .limited = limited}));
  return {};
}

Algorithm proved(Algorithm algorithm, int nranks, bool is_verified) {
  ScheduleHash hash;
  for (int root = 0; root < (has_root(algorithm.kind) ? nranks : 1); ++root) {
    const Shape shape{.kind = algorithm.kind, .nranks = nranks, .root = root};
    for (int rank = 0; algorithm.supports(shape) && rank < nranks; ++rank)
      hash.add(algorithm.build(shape, rank));
  }
  algorithm.content = hash.value();
  algorithm.cost_is_estimate = true;
  const auto proof = std::make_shared<Proof>(algorithm, is_verified);
  algorithm.supports = [proof](const Shape& of) { return proof->holds(of); };
  algorithm.cost = [proof](const Shape& of) { return proof->cost(of); };
  return algorithm;
}

}  // namespace rondo
