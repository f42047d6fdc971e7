// SPDX-License-Identifier: Apache-2.0
#include "msccl_run.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error_kinds.h"
#include "msccl_data.h"

namespace rondo {
namespace {

/// The thread blocks of all GPUs, and the connections that they share: which can run next. Those that can go
/// on are visited as often as it takes, in the order of their numbers.
class MscclTurns {
 public:
  explicit MscclTurns(const MscclProgram& program) {
    std::vector<std::pair<uint64_t, size_t>> ends;  // of connections, with the block and whether it receives
    for (size_t gpu = 0; gpu < program.gpus.size(); ++gpu) {
      first_block_.push_back(states_.size());
      for (const MscclBlock& block : program.gpus[gpu].blocks) {
        const size_t number = states_.size();
        states_.push_back({.gpu = static_cast<int>(gpu)});
        if (block.send >= 0)
          ends.emplace_back(connection(static_cast<int>(gpu), block.send, block.channel), number << 1);
        if (block.recv >= 0)
          ends.emplace_back(connection(block.recv, static_cast<int>(gpu), block.channel), number << 1 | 1);
      }
    }
    std::ranges::sort(ends);
    for (size_t i = 0; i < ends.size(); ++i) {
      if (i == 0 || ends[i].first != ends[i - 1].first) fifos_.emplace_back();
      BlockState& state = states_[ends[i].second >> 1];
      ((ends[i].second & 1) != 0 ? state.in : state.out) = static_cast<int>(fifos_.size()) - 1;
    }
    for (size_t number = 0; number < states_.size(); ++number) turn_.push_back(number);
  }

  size_t index(int gpu, int block) const {
    return first_block_[static_cast<size_t>(gpu)] + static_cast<size_t>(block);
  }
  int gpu_of(size_t number) const { return states_[number].gpu; }
  int block_of(size_t number) const {
    return static_cast<int>(number - first_block_[static_cast<size_t>(states_[number].gpu)]);
  }
  /// The steps of a block that are done.
  size_t done(size_t number) const { return states_[number].done; }
  MscclFifo& in(size_t number) { return fifos_[static_cast<size_t>(states_[number].in)]; }
  MscclFifo& out(size_t number) { return fifos_[static_cast<size_t>(states_[number].out)]; }
  bool is_too_many() const { return looks_ > kMaxLooks; }

  /// The next block that may be able to run; false: there is none.
  bool take(size_t& number) {
    if (turn_.empty()) turn_.swap(later_);
    if (turn_.empty()) return false;
    std::ranges::pop_heap(turn_, std::greater());
    number = latest_ = turn_.back();
    turn_.pop_back();
    return true;
  }

  /// Whether a block's next step can run; if not, and it has one, the block is taken again once what the step
  /// waits for may be there.
  bool can_run(size_t number, const MscclBlock& block) {
    BlockState& state = states_[number];
    if (state.done == block.steps.size()) return false;
    ++looks_;
    const MscclStep& step = block.steps[state.done];
    if (step.waits()) {
      BlockState& awaited = states_[index(state.gpu, step.wait_block)];
      if (awaited.done <= step.wait_step) return wait(state, number, awaited.waiter);
    }
    if (!step.type().receives || in(number).chunks >= step.count) return true;
    return wait(state, number, in(number).waiter);
  }

  /// A block's next step is done: those that wait for it, or for what it sent, may go on.
  void finish_step(size_t number, bool sends) {
    BlockState& state = states_[number];
    ++state.done;
    if (state.waiter >= 0) wake(state.waiter);
    if (sends && out(number).waiter >= 0) wake(out(number).waiter);
  }

 private:
  static constexpr int64_t kMaxLooks = 5'000'000;

  struct BlockState {
    int gpu = 0;
    uint32_t done = 0;
    int in = -1, out = -1;  // fifos_
    int waiter = -1;        // the first block that waits for a step of this one
    int next_waiter = -1;   // the one after this in the list that it is in
  };

  static uint64_t connection(int from, int to, int channel) {
    return static_cast<uint64_t>(from) << 40 | static_cast<uint64_t>(to) << 20 |
           static_cast<uint64_t>(channel);
  }

  static bool wait(BlockState& state, size_t number, int& waiter) {
    state.next_waiter = std::exchange(waiter, static_cast<int>(number));
    return false;
  }
  void wake(int& waiter) {
    for (int at = std::exchange(waiter, -1); at >= 0;) {
      const auto number = static_cast<size_t>(at);
      std::vector<size_t>& turn = number > latest_ ? turn_ : later_;
      turn.push_back(number);
      std::ranges::push_heap(turn, std::greater());
      at = std::exchange(states_[number].next_waiter, -1);
    }
  }

  std::vector<size_t> first_block_;  // by GPU
  std::vector<BlockState> states_;
  std::vector<MscclFifo> fifos_;
  std::vector<size_t> turn_, later_;  // heaps: blocks of this round and of the next
  size_t latest_ = 0;
  int64_t looks_ = 0;
};

class MscclRun {
 public:
  explicit MscclRun(const MscclProgram& program)
      : program_(program),
        kind_(traits(program.collective)),
        nranks_(static_cast<int>(program.gpus.size())),
        chunks_(chunks_of({.kind = program.collective, .nranks = nranks_}, program.parts)),
        longest_(std::max(chunks_.input, chunks_.output)),
        turns_(program) {
    gpus_.resize(program.gpus.size());
    for (int gpu = 0; gpu < nranks_; ++gpu) {
      all_ranks_ = (all_ranks_ + number_of_rank(gpu)) & kRanksMask;
      size_t steps = 0;
      for (const MscclBlock& block : described(gpu).blocks) steps += block.steps.size();
      of(gpu).moves.reserve(steps);
      of(gpu).keeps_own_block = !kind_.reduces() && reads_own_block_with_others(gpu);
      if (of(gpu).keeps_own_block && program_.in_place) copy_own_block(gpu);
    }
  }

  Result<MscclTrace> run() {
    for (size_t number = 0; turns_.take(number);) {
      const int gpu = turns_.gpu_of(number), block = turns_.block_of(number);
      while (turns_.can_run(number, block_of(gpu, block))) RONDO_TRY(run_step(gpu, block, number));
      if (turns_.is_too_many())
        return error(ErrorKind::TooLargeToPlan,
                     "{}: its thread blocks wait for one another in too many turns", program_.source);
    }
    MscclTrace trace{.chunks = chunks_, .gpus = {}, .links = std::move(links_), .scratch_chunks = {}};
    for (int gpu = 0; gpu < nranks_; ++gpu) {
      RONDO_TRY(check_done(gpu));
      copy_unwritten_outputs(gpu);
      trace.gpus.push_back(std::move(of(gpu).moves));
      trace.scratch_chunks.push_back(of(gpu).scratch_end);
      of(gpu) = {};
    }
    return trace;
  }

 private:
  using Key = MscclCells::Key;
  struct Gpu {
    bool keeps_own_block = false;  // in the Output, among the blocks of others
    MscclCells memory;
    // Of places for data of other lengths than the first, by these; of blocks, for sums out of Scratch
    // (kSpare).
    std::map<std::tuple<int, int, int>, uint16_t> other_homes;
    std::map<int, int> scratch_of_length;  // chunks that a Schedule has
    int scratch_end = 0;
    std::vector<MscclMove> moves;
  };

  Gpu& of(int gpu) { return gpus_[static_cast<size_t>(gpu)]; }
  const Gpu& of(int gpu) const { return gpus_[static_cast<size_t>(gpu)]; }
  const MscclGpu& described(int gpu) const { return program_.gpus[static_cast<size_t>(gpu)]; }
  const MscclBlock& block_of(int gpu, int block) const {
    return described(gpu).blocks[static_cast<size_t>(block)];
  }

  /// In place, input and output are one memory, and each has the place of its own block in the other.
  Key key(int gpu, MscclPlace place) const {
    if (place.buffer == MscclBuffer::Scratch) return {MscclCells::kScratch, place.chunk};
    const bool is_input = place.buffer == MscclBuffer::Input;
    if (!program_.in_place) return {is_input ? MscclCells::kMain : MscclCells::kOutputs, place.chunk};
    const bool is_block_of_more = is_input ? chunks_.input < chunks_.output : chunks_.output < chunks_.input;
    return {MscclCells::kMain, is_block_of_more ? gpu * chunks_.parts + place.chunk : place.chunk};
  }
  bool is_there(int gpu, MscclPlace place) const {
    const int chunk = key(gpu, place).second;
    switch (place.buffer) {
      case MscclBuffer::Scratch: return chunk < described(gpu).scratch_chunks;
      case MscclBuffer::Input: return chunk < (program_.in_place ? longest_ : chunks_.input);
      case MscclBuffer::Output: return chunk < (program_.in_place ? longest_ : chunks_.output);
    }
    return false;
  }

  /// As long as which chunk of the longer buffer a chunk of the input is.
  int length_of_input(int gpu, int chunk) const {
    return chunks_.input < chunks_.output ? gpu * chunks_.parts + chunk : chunk;
  }

  /// What is in the GPU's memory at first; nothing but its input.
  MscclMemory initial(int gpu, MscclPlace place) const {
    int chunk = place.chunk;
    if (program_.in_place && place.buffer == MscclBuffer::Output) {
      chunk = key(gpu, place).second - (chunks_.input < chunks_.output ? gpu * chunks_.parts : 0);
    } else if (place.buffer != MscclBuffer::Input) {
      return {};
    }
    if (chunk < 0 || chunk >= chunks_.input) return {};
    const auto length = static_cast<uint16_t>(length_of_input(gpu, chunk));
    return {.content = {.ranks = number_of_rank(gpu) & kRanksMask, .length = length},
            .buffer = Buffer::Input,
            .chunk = static_cast<uint16_t>(chunk)};
  }
  MscclMemory memory(int gpu, MscclPlace place) const {
    const MscclMemory* const found = of(gpu).memory.find(key(gpu, place));
    return found != nullptr ? *found : initial(gpu, place);
  }
  MscclMemory& cell(int gpu, Key at) {
    MscclCells& cells = of(gpu).memory;
    const size_t before = cells.size();
    MscclMemory& found = cells.at(at);
    if (at.first == MscclCells::kScratch) places_ += cells.size() - before;
    return found;
  }
  void store(int gpu, MscclPlace place, const Content& content, Ref at) {
    MscclMemory& found = cell(gpu, key(gpu, place));
    found.content = content;
    found.buffer = at.buffer;
    found.chunk = static_cast<uint16_t>(at.chunk);
  }

  /// The place in the Output of a GPU's memory; None if it is not one of its output.
  Ref output_place(int gpu, Key at) const {
    if (!program_.in_place) return at.first == MscclCells::kOutputs ? output(at.second) : Ref{};
    if (at.first != MscclCells::kMain) return {};
    if (chunks_.output == longest_) return output(at.second);
    const int chunk = at.second - gpu * chunks_.parts;
    return chunk >= 0 && chunk < chunks_.output ? output(chunk) : Ref{};
  }
  /// Where a Schedule keeps what the GPU writes there. Sums of blocks in place are in Scratch until the own
  /// one is complete: only there are those of its own block and of others consecutive.
  Ref home(int gpu, Key at, const Content& content) {
    const bool is_partial = program_.in_place && chunks_.output < chunks_.input && !is_complete(content);
    const Ref place = output_place(gpu, at);
    if (place.buffer != Buffer::None && !is_partial) return place;
    return home_in_scratch(gpu, at, content.length);
  }
  /// A chunk of a Schedule's Scratch for each length that is kept in a place; mostly there is one.
  Ref home_in_scratch(int gpu, Key at, int length) {
    MscclMemory& found = cell(gpu, at);
    if (found.home_length == length) return scratch(found.home);
    if (found.home_length != MscclMemory::kNoHome) return other_home(gpu, at.first, at.second, length);
    found.home_length = static_cast<uint16_t>(length);
    found.home = new_chunk(gpu, length);
    return scratch(found.home);
  }
  Ref other_home(int gpu, int space, int place, int length) {
    const auto [found, is_new] = of(gpu).other_homes.try_emplace({space, place, length});
    if (is_new) found->second = new_chunk(gpu, length);
    return scratch(found->second);
  }
  /// The next one of that length; too many are refused later.
  uint16_t new_chunk(int gpu, int length) {
    Gpu& here = of(gpu);
    ++places_;
    const int64_t chunk =
        std::min<int64_t>(int64_t{here.scratch_of_length[length]++} * longest_ + length, Step::kNone);
    here.scratch_end = std::max(here.scratch_end, static_cast<int>(chunk) + 1);
    return static_cast<uint16_t>(chunk);
  }

  Status run_step(int gpu, int block, size_t number) {
    const auto done = static_cast<int>(turns_.done(number));
    const MscclStep& step = block_of(gpu, block).steps[static_cast<size_t>(done)];
    const MscclMove move{.block = static_cast<uint16_t>(block), .step = static_cast<uint16_t>(done)};
    if (step.count == 0) append(gpu, move);
    for (int i = 0; i < step.count; ++i) RONDO_TRY(run_chunk(gpu, number, move, step, i));
    turns_.finish_step(number, step.type().sends);
    if (moves_ > kMaxMoves) return too_many_moves().within(program_.source);
    if (places_ <= kMaxPlaces) return {};
    return error(ErrorKind::TooLargeToPlan,
                 "{}: more than {} chunks in scratch, as the file and as Schedules have them: expected at "
                 "most as many",
                 program_.source, kMaxPlaces);
  }

  Status run_chunk(int gpu, size_t number, MscclMove move, const MscclStep& step, int i) {
    const MscclType& type = step.type();
    std::optional<Content> content;
    MscclPart sent;
    if (type.receives) {
      move.receives = true;
      std::tie(content, sent) = messages_.pop(turns_.in(number));
      sent.gpu = block_of(gpu, move.block).recv;
    }
    if (step.reads_source()) {
      RONDO_TRY_ASSIGN(const MscclMemory source, read(gpu, step, step.src(i)));
      move.set_src(source.place());
      RONDO_TRY(add(gpu, step, source.content, content));
    }
    const MscclPlace to = step.dst(i);
    if (type.reduces && !type.receives) {
      RONDO_TRY_ASSIGN(const MscclMemory target, read(gpu, step, to));
      RONDO_TRY(add(gpu, step, target.content, content));
      fold_two(gpu, target.place(), static_cast<int>(content->length), move);
    }
    move.reduces = type.reduces;
    move.finish = type.reduces && is_complete(*content);
    if (type.copies) {
      if (!is_there(gpu, to)) return wrong(gpu, step, "writes where its memory has ended");
      move.set_dst(is_deferred(gpu, to, move) ? move.src() : home(gpu, key(gpu, to), *content));
      store(gpu, to, *content, move.dst());
      if (move.dst_buffer == Buffer::Input) move = {.block = move.block, .step = move.step};
    }
    move.sends = type.sends;
    const MscclPart here = append(gpu, move);
    if (type.receives) link(sent, here, step.count == 1);
    if (type.sends) messages_.push(turns_.out(number), *content, here);
    return {};
  }

  /// Adds one chunk, to the move before if it can; returns where it is.
  MscclPart append(int gpu, const MscclMove& move) {
    std::vector<MscclMove>& moves = of(gpu).moves;
    if (moves.empty() || !(follows(moves.back(), move) || waits_again(moves.back(), move))) {
      moves.push_back(move);
      ++moves_;
    } else if (!move.only_waits()) {
      ++moves.back().count;
    }
    return {gpu, static_cast<int>(moves.size()) - 1, moves.back().count - 1};
  }
  static bool waits_again(const MscclMove& before, const MscclMove& next) {
    return before.only_waits() && next.only_waits() && before.block == next.block && before.step == next.step;
  }
  static bool follows(const MscclMove& before, const MscclMove& next) {
    const auto continues = [&](Ref one, Ref other) {
      return is_same_place(place_after(one, before.count), other);
    };
    return before.block == next.block && before.step == next.step && before.receives == next.receives &&
           before.sends == next.sends && before.reduces == next.reduces && before.finish == next.finish &&
           !next.only_waits() && !before.only_waits() && continues(before.src(), next.src()) &&
           continues(before.operand(), next.operand()) && continues(before.dst(), next.dst());
  }
  /// `is_one`: what takes it has no other chunks.
  void link(const MscclPart& sent, const MscclPart& taken, bool is_one) {
    const MscclMove& sender = of(sent.gpu).moves[static_cast<size_t>(sent.move)];
    const MscclBlock& from = block_of(sent.gpu, sender.block);
    if (is_one && from.steps[sender.step].count == 1) return;
    const auto continues = [&](const MscclPart& one, const MscclPart& other) {
      return one.gpu == other.gpu && one.move == other.move && one.first + links_.back().count == other.first;
    };
    if (!links_.empty() && continues(links_.back().sent, sent) && continues(links_.back().taken, taken))
      ++links_.back().count;
    else
      links_.push_back({sent, taken});
  }

  /// Whether a step takes chunks of the GPU's own block and of others out of the output. They are consecutive
  /// only there, so it could not be one Step if its own block were taken out of the input.
  bool reads_own_block_with_others(int gpu) const {
    const int begin = gpu * chunks_.parts, end = begin + chunks_.parts;
    const auto does = [&](const MscclStep& step) {
      const int first = step.src_chunk, last = step.src_chunk + step.count - 1;
      const bool is_of_own = first < end && last >= begin;
      return step.reads_source() && step.src_buffer == MscclBuffer::Output && is_of_own &&
             (first < begin || last >= end);
    };
    return std::ranges::any_of(described(gpu).blocks, [&](const MscclBlock& block) {
      return std::ranges::any_of(block.steps, does);
    });
  }

  static MscclMove added_copy(Ref from, Ref to) {
    MscclMove move;
    move.set_src(from);
    move.set_dst(to);
    return move;
  }

  /// In place it is in the output from the start; in other calls it gets there first of all.
  void copy_own_block(int gpu) {
    for (int chunk = gpu * chunks_.parts; chunk < (gpu + 1) * chunks_.parts; ++chunk) {
      const MscclPlace own{MscclBuffer::Output, chunk};
      const MscclMemory known = memory(gpu, own);
      append(gpu, added_copy(known.place(), output(chunk)));
      store(gpu, own, known.content, output(chunk));
    }
  }

  /// Whether it copies a chunk of the input to where it is in calls in place. There the copy must not come
  /// before the last use of the input, so it comes at the end, and until then the input serves as well.
  bool is_deferred(int gpu, MscclPlace to, const MscclMove& move) const {
    if (of(gpu).keeps_own_block || move.receives || move.src_buffer != Buffer::Input || move.folds)
      return false;
    const Ref place = output_place(gpu, key(gpu, to));
    const Shape shape{.kind = program_.collective, .nranks = nranks_};
    return place.buffer == Buffer::Output &&
           InPlace::input_of_output(shape, gpu, chunks_.parts, place.chunk) == move.src_chunk;
  }

  Result<MscclMemory> read(int gpu, const MscclStep& step, MscclPlace place) {
    if (!is_there(gpu, place)) return wrong(gpu, step, "reads where its memory has ended");
    const MscclMemory found = memory(gpu, place);
    if (!found.holds_data()) return wrong(gpu, step, "reads what was never written");
    return found;
  }

  /// Adds to the sum so far, if there is one.
  Status add(int gpu, const MscclStep& step, const Content& operand, std::optional<Content>& sum) {
    if (!sum) {
      sum = operand;
      return {};
    }
    if (!kind_.reduces()) return wrong(gpu, step, "reduces in a collective that does not");
    if (sum->length != operand.length) return wrong(gpu, step, "adds different chunks");
    sum->ranks = (sum->ranks + operand.ranks) & kRanksMask;
    return {};
  }

  /// A Step folds one place anywhere with others in Scratch.
  void fold_two(int gpu, Ref target, int length, MscclMove& move) {
    if (target.buffer == Buffer::Scratch) {
      move.set_operand(target);
      return;
    }
    if (move.src_buffer != Buffer::Scratch) {
      const Ref spare = other_home(gpu, kSpare, move.block, length);
      MscclMove copied{.block = move.block, .step = move.step};
      copied.set_src(move.src());
      copied.set_dst(spare);
      of(gpu).moves.push_back(copied);
      ++moves_;
      move.set_src(spare);
    }
    move.set_operand(move.src());
    move.set_src(target);
  }

  bool is_complete(const Content& content) const { return content.ranks == all_ranks_; }

  Status check_done(int gpu) {
    for (int block = 0; block < std::ssize(described(gpu).blocks); ++block) {
      const MscclBlock& at = block_of(gpu, block);
      const size_t next = turns_.done(turns_.index(gpu, block));
      if (next < at.steps.size())
        return wrong(gpu, at.steps[next], "never runs: what it waits for never comes");
    }
    return {};
  }

  void copy_unwritten_outputs(int gpu) {
    for (int chunk = 0; chunk < chunks_.output; ++chunk) {
      const Ref place = memory(gpu, {MscclBuffer::Output, chunk}).place();
      if (place.buffer == Buffer::Input) append(gpu, added_copy(place, output(chunk)));
    }
  }

  Status wrong(int gpu, const MscclStep& step, std::string_view what) const {
    return error(ErrorKind::ProgramIsWrong, "{}:{}: <step> of type {} of GPU {} {}", program_.source,
                 step.line, step.type().name, gpu, what);
  }

  static constexpr int kSpare = -1;
  static constexpr size_t kMaxPlaces = 500'000;

  const MscclProgram& program_;
  const CollectiveTraits& kind_;
  const int nranks_;
  const Chunks chunks_;
  const int longest_;
  MscclTurns turns_;
  std::vector<Gpu> gpus_;
  size_t moves_ = 0;   // of all GPUs
  size_t places_ = 0;  // in scratch, as the file and as Schedules have it
  MscclMessages messages_;
  std::vector<MscclLink> links_;
  uint64_t all_ranks_ = 0;  // the sum of all
};

}  // namespace

Result<MscclTrace> trace(const MscclProgram& program) { return MscclRun(program).run(); }

}  // namespace rondo
