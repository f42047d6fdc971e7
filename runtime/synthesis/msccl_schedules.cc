// SPDX-License-Identifier: Apache-2.0
#include "synthesis/msccl_schedules.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/error_kinds.h"
#include "msccl_join.h"
#include "msccl_run.h"

namespace rondo {
namespace {

constexpr int kMaxPorts = 0x1f00;  // a lane between GPUs has six

/// Numbers the chains of thread blocks that connections join.
class Chains {
 public:
  explicit Chains(const MscclProgram& program) {
    for (const MscclGpu& gpu : program.gpus) {
      first_.push_back(parent_.size());
      for (size_t block = 0; block < gpu.blocks.size(); ++block) parent_.push_back(parent_.size());
    }
    std::map<std::tuple<int, int, int>, size_t> ends;  // of connections: a block at one
    for (int gpu = 0; gpu < static_cast<int>(program.gpus.size()); ++gpu) {
      const auto& blocks = program.gpus[static_cast<size_t>(gpu)].blocks;
      for (size_t block = 0; block < blocks.size(); ++block) {
        const MscclBlock& at = blocks[block];
        const size_t own = index(gpu, static_cast<int>(block));
        if (at.send >= 0) join(own, ends.try_emplace({gpu, at.send, at.channel}, own).first->second);
        if (at.recv >= 0) join(own, ends.try_emplace({at.recv, gpu, at.channel}, own).first->second);
      }
    }
    std::map<size_t, int> numbers;
    for (size_t i = 0; i < parent_.size(); ++i)
      number_.push_back(numbers.try_emplace(root(i), static_cast<int>(numbers.size())).first->second);
    count_ = static_cast<int>(numbers.size());
  }

  int number(int gpu, int block) const { return number_[index(gpu, block)]; }
  int count() const { return count_; }

 private:
  size_t index(int gpu, int block) const {
    return first_[static_cast<size_t>(gpu)] + static_cast<size_t>(block);
  }
  size_t root(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void join(size_t a, size_t b) { parent_[root(a)] = root(b); }

  std::vector<size_t> first_;  // by GPU
  std::vector<size_t> parent_;
  std::vector<int> number_;
  int count_ = 0;
};

/// The Schedule of one GPU, Step by Step in the order of its trace.
class LaneWriter {
 public:
  LaneWriter(const MscclProgram& program, const MscclTrace& trace, const Chains& chains, int gpu)
      : described_(program.gpus[static_cast<size_t>(gpu)]),
        moves_(trace.gpus[static_cast<size_t>(gpu)]),
        chains_(chains),
        gpu_(gpu),
        shape_{.kind = program.collective, .nranks = static_cast<int>(program.gpus.size())},
        schedule_(shape_, gpu, program.parts, trace.scratch_chunks[static_cast<size_t>(gpu)]) {
    for (const MscclBlock& block : described_.blocks) {
      first_step_.push_back(done_.size());
      done_.resize(done_.size() + block.steps.size(), kNotDone);
    }
    for (const MscclMove& move : moves_)
      if (lanes_.try_emplace(chain_of(move), static_cast<int>(lanes_.size())).second)
        schedule_.lanes.push_back({static_cast<uint16_t>(chain_of(move)), {}});
    for (const MscclMove& move : moves_)
      for_each_chunk(move, [&](Ref place) {
        if (place.buffer == Buffer::Scratch) users_[place.chunk].insert(lane_of(move));
      });
  }

  /// `readers`: of input that copies wait for, counted over all GPUs.
  Result<Schedule> write(int64_t& readers) {
    for (const MscclMove& move : moves_) {
      add(move);
      readers += std::exchange(readers_, 0);
      if (readers > kMaxReaders)
        return error(ErrorKind::TooLargeToPlan,
                     "copies of GPU {} wait for more than {} reads of its input: expected at most as many",
                     gpu_, kMaxReaders);
      if (last_step(lane_of(move)) > kMaxSteps || std::ssize(schedule_.peer_sets) > kMaxSets)
        return error(ErrorKind::TooLargeToPlan,
                     "GPU {} takes more than {} steps in a thread block, or {} different sums", gpu_,
                     kMaxSteps, kMaxSets);
    }
    for (Lane& lane : schedule_.lanes) lane.steps.shrink_to_fit();
    for (const auto& [lane, step, chunk, end] : of_tile_before_) {
      Step& waiting = schedule_.lanes[static_cast<size_t>(lane)].steps[static_cast<size_t>(step)];
      waiting.wait_step = static_cast<uint16_t>(last_use(waiting.wait_lane, chunk, end));
    }
    return std::move(schedule_);
  }

 private:
  static constexpr int kNotDone = -1;
  static constexpr int kMaxSteps = 50'000;  // of a lane
  static constexpr int kMaxSets = 4'000;    // of peers and operands
  static constexpr int64_t kMaxReaders = 2'000'000;

  /// For a Step of another lane, or for its last use of chunks of Scratch in the tile before.
  struct LaneWait {
    int lane = 0;
    int step = 0;
    int chunk = -1;
    int chunks_end = -1;
  };

  struct LastSteps {
    std::map<int, int> by_lane;
    void add(const LaneWait& at) {
      int& last = by_lane.try_emplace(at.lane, at.step).first->second;
      last = std::max(last, at.step);
    }
  };

  int chain_of(const MscclMove& move) const {
    return move.is_added() ? chains_.count() : chains_.number(gpu_, move.block);
  }
  const MscclStep& step_of(const MscclMove& move) const {
    return described_.blocks[move.block].steps[move.step];
  }
  int& done(int block, int step) {
    return done_[first_step_[static_cast<size_t>(block)] + static_cast<size_t>(step)];
  }
  int lane_of(const MscclMove& move) const { return lanes_.at(chain_of(move)); }
  int last_step(int lane) const {
    return static_cast<int>(schedule_.lanes[static_cast<size_t>(lane)].steps.size()) - 1;
  }

  void add(const MscclMove& move) {
    const int lane = lane_of(move);
    std::vector<LaneWait> waits = waits_of(move);
    std::erase_if(waits, [&](const LaneWait& wait) {
      if (wait.lane == lane || wait.step < 0) return true;
      if (wait.chunk >= 0) return false;
      int& known = awaited_.try_emplace({lane, wait.lane}, -1).first->second;
      return std::exchange(known, std::max(known, wait.step)) >= wait.step;
    });
    for (size_t i = 0; i < waits.size(); ++i)
      if (move.only_waits() || i + 1 < waits.size()) put(lane, {}, &waits[i]);
    if (!move.only_waits()) put(lane, moved(move), waits.empty() ? nullptr : &waits.back());
    const LaneWait here{lane, last_step(lane)};
    if (!move.is_added()) done(move.block, move.step) = here.step;
    const Buffer later_source = move.is_added() ? Buffer::Output : Buffer::Input;
    for_each_chunk(move, [&](Ref place) {
      if (place.buffer == later_source && copies_in_place(move)) copies_[{place.buffer, place.chunk}] = here;
      if (place.buffer == Buffer::Scratch) last_use_[{place.chunk, lane}] = last_step(lane);
      if (place.buffer == Buffer::Input) input_readers_[place.chunk][lane] = last_step(lane);
    });
  }

  /// Calls `take` with each chunk that a move reads or writes.
  static void for_each_chunk(const MscclMove& move, auto&& take) {
    for (const Ref first : {move.src(), move.operand(), move.dst()})
      for (int i = 0; i < move.count; ++i) take(Ref{first.buffer, first.chunk + i});
  }

  Move moved(const MscclMove& move) const {
    Move made{.src = move.src(), .dst = move.dst(), .finish = move.finish, .count = move.count};
    if (move.receives) made.recv = {described_.blocks[move.block].recv};
    if (move.reduces) made.recv.push_back(gpu_);
    if (move.folds) made.recv.push_back(scratch_operand(move.operand_chunk));
    if (move.sends) made.send = {described_.blocks[move.block].send};
    return made;
  }

  /// As Schedule::intern(), which looks at all sets.
  uint16_t set_of(const std::vector<int>& peers) {
    const auto [known, is_new] = sets_.try_emplace(peers, Step::kNone);
    if (is_new) {
      known->second = static_cast<uint16_t>(schedule_.peer_sets.size());
      schedule_.peer_sets.push_back(peers);
    }
    return known->second;
  }

  void put(int lane, Move move, const LaneWait* wait) {
    if (wait != nullptr) {
      move.after_lane = wait->lane;
      move.after_step = wait->step;
      move.after_tile_before = wait->chunk >= 0;
    }
    const std::vector<int> senders = std::exchange(move.recv, {}), receivers = std::exchange(move.send, {});
    const int step = schedule_.add(lane, move);
    Step& made = schedule_.lanes[static_cast<size_t>(lane)].steps.back();
    if (!senders.empty() && senders != std::vector{gpu_}) {
      made.recv_set = set_of(senders);
      made.verbs = static_cast<uint8_t>(made.verbs | kRecv | (senders.size() > 1 ? kReduce : 0));
    }
    if (!receivers.empty()) {
      made.send_set = set_of(receivers);
      made.verbs = static_cast<uint8_t>(made.verbs | kSend);
    }
    if (move.after_tile_before) of_tile_before_.emplace_back(lane, step, wait->chunk, wait->chunks_end);
  }

  int last_use(int lane, int chunk, int end) const {
    int last = 0;
    for (; chunk < end; ++chunk)
      if (const auto found = last_use_.find({chunk, lane}); found != last_use_.end())
        last = std::max(last, found->second);
    return last;
  }

  std::vector<LaneWait> waits_of(const MscclMove& move) {
    LastSteps steps = steps_around_copies(move);
    if (!move.is_added() && step_of(move).waits() && done(move.block, move.step) == kNotDone) {
      const MscclStep& step = step_of(move);
      steps.add({lanes_.at(chains_.number(gpu_, step.wait_block)), done(step.wait_block, step.wait_step)});
    }
    std::vector<LaneWait> waits;
    for (const auto& [lane, step] : steps.by_lane) waits.push_back({lane, step});
    // What is written to Scratch first in a tile waits for all that used the place in the tile before.
    std::set<int> users;
    const int first = move.dst_chunk, end = first + move.count;
    for (int chunk = first; move.dst_buffer == Buffer::Scratch && chunk < end; ++chunk)
      if (is_used_.insert(chunk).second) users.merge(std::set<int>(users_[chunk]));
    for (const int lane : users) waits.push_back({lane, 0, first, end});
    return waits;
  }

  /// Whether it copies the input to where it is in calls in place.
  bool copies_in_place(const MscclMove& move) const {
    return !move.receives && move.src_buffer == Buffer::Input && move.dst_buffer == Buffer::Output &&
           InPlace::input_of_output(shape_, gpu_, schedule_.chunks.parts, move.dst_chunk) == move.src_chunk;
  }

  /// What a move follows although the file does not say so: such a copy comes after all that has read the
  /// input, and before what reads it later or, if the copy was added, reads that.
  LastSteps steps_around_copies(const MscclMove& move) {
    LastSteps steps;
    for_each_chunk(move, [&](Ref place) {
      if (place.buffer == Buffer::Input && copies_in_place(move)) {
        for (const auto& [lane, step] : input_readers_[place.chunk]) steps.add({lane, step});
        readers_ += std::ssize(input_readers_[place.chunk]);
      } else if (const auto copy = copies_.find({place.buffer, place.chunk}); copy != copies_.end()) {
        steps.add(copy->second);
      }
    });
    return steps;
  }

  const MscclGpu& described_;
  const std::vector<MscclMove>& moves_;
  const Chains& chains_;
  const int gpu_;
  const Shape shape_;
  Schedule schedule_;
  std::map<int, int> lanes_;                           // by chain
  std::map<std::vector<int>, uint16_t> sets_;          // of the Schedule's peer sets: the index
  std::map<std::pair<int, int>, int> awaited_;         // by lane and awaited lane: the latest Step
  std::map<std::pair<Buffer, int>, LaneWait> copies_;  // in place; by buffer and chunk
  std::vector<size_t> first_step_;                     // by block, in done_
  std::vector<int> done_;                              // by step: the last Step of its lane added for it
  std::map<int, std::set<int>> users_;                 // by chunk of Scratch: lanes
  std::set<int> is_used_;                              // chunks of Scratch
  std::map<std::pair<int, int>, int> last_use_;        // by chunk of Scratch and lane: the Step
  int64_t readers_ = 0;                                // that the last move added waits for
  std::map<int, std::map<int, int>> input_readers_;    // by chunk and lane: the last Step
  std::vector<std::tuple<int, int, int, int>> of_tile_before_;  // lane and Step that wait, for what chunks
};

}  // namespace

Result<std::vector<Schedule>> schedules_of(const MscclProgram& program) {
  const Chains chains(program);
  if (chains.count() >= kMaxPorts)
    return error(ErrorKind::TooLargeToPlan, "{}: it needs {} chains of connections: expected fewer than {}",
                 program.source, chains.count(), kMaxPorts);
  RONDO_TRY_ASSIGN(MscclTrace found, trace(program));
  if (Status joined = join_chunks(program, found); !joined.ok()) return joined.within(program.source);
  const int most =
      std::max({found.chunks.input, found.chunks.output, *std::ranges::max_element(found.scratch_chunks)});
  if (most >= Step::kNone)
    return error(ErrorKind::TooLargeToPlan, "{}: it needs {} chunks of a buffer: expected fewer than {}",
                 program.source, most, Step::kNone);
  int slot_chunks = 1;
  for (const std::vector<MscclMove>& moves : found.gpus)
    for (const MscclMove& move : moves)
      if (move.receives || move.sends) slot_chunks = std::max<int>(slot_chunks, move.count);
  std::vector<Schedule> ranks;
  int64_t readers = 0;
  for (int gpu = 0; gpu < static_cast<int>(program.gpus.size()); ++gpu) {
    auto schedule = LaneWriter(program, found, chains, gpu).write(readers);
    if (!schedule.ok()) return schedule.status().within(program.source);
    ranks.push_back(schedule.take());
    ranks.back().slot_chunks = slot_chunks;
    found.gpus[static_cast<size_t>(gpu)] = {};
  }
  return ranks;
}

}  // namespace rondo
