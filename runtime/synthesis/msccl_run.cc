// SPDX-License-Identifier: Apache-2.0
#include "msccl_run.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>

#include "base/error_kinds.h"
#include "msccl_data.h"

namespace rondo {
namespace {

class MscclRun {
 public:
  explicit MscclRun(const MscclProgram& program)
      : program_(program),
        kind_(traits(program.collective)),
        nranks_(static_cast<int>(program.gpus.size())),
        chunks_(chunks_of({.kind = program.collective, .nranks = nranks_}, program.parts)),
        longest_(std::max(chunks_.input, chunks_.output)) {
    gpus_.resize(program.gpus.size());
    for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
      std::vector<bool> self(gpus_.size());
      self[gpu] = true;
      own_.push_back(std::make_shared<const std::vector<bool>>(std::move(self)));
    }
    for (int gpu = 0; gpu < nranks_; ++gpu) {
      of(gpu).done.resize(described(gpu).blocks.size());
      of(gpu).keeps_own_block = !kind_.reduces() && reads_own_block_with_others(gpu);
      if (of(gpu).keeps_own_block && program_.in_place) copy_own_block(gpu);
    }
  }

  Result<MscclTrace> run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int gpu = 0; gpu < nranks_; ++gpu)
        for (int block = 0; block < static_cast<int>(of(gpu).done.size()); ++block)
          while (can_run(gpu, block)) {
            RONDO_TRY(run_step(gpu, block));
            moved = true;
          }
      if (looks_ > kMaxLooks)
        return error(ErrorKind::TooLargeToPlan,
                     "{}: its thread blocks wait for one another in too many turns", program_.source);
    }
    MscclTrace trace{.chunks = chunks_, .gpus = {}, .links = std::move(links_), .scratch_chunks = {}};
    for (int gpu = 0; gpu < nranks_; ++gpu) {
      RONDO_TRY(check_done(gpu));
      copy_unwritten_outputs(gpu);
      trace.gpus.push_back(std::move(of(gpu).moves));
      trace.scratch_chunks.push_back(of(gpu).scratch_end);
    }
    return trace;
  }

 private:
  using Key = MscclCells::Key;
  struct Gpu {
    std::vector<size_t> done;      // steps, by block
    bool keeps_own_block = false;  // in the Output, among the blocks of others
    MscclCells memory;
    std::map<std::pair<Key, int>, int> scratch_chunks;  // where a Schedule keeps a place, by the length there
    std::map<int, int> scratch_of_length;               // how many of these there are
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
    return {Content{.ranks = own_[static_cast<size_t>(gpu)], .length = length_of_input(gpu, chunk)},
            input(chunk)};
  }
  MscclMemory memory(int gpu, MscclPlace place) const {
    const std::optional<MscclMemory> found = of(gpu).memory.find(key(gpu, place));
    return found ? *found : initial(gpu, place);
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
  Ref home_in_scratch(int gpu, Key at, int length) {
    Gpu& here = of(gpu);
    const auto [found, is_new] = here.scratch_chunks.try_emplace({at, length});
    if (is_new) {  // the next chunk of that length; too many are refused later
      const int64_t chunk = int64_t{here.scratch_of_length[length]++} * longest_ + length;
      found->second = static_cast<int>(std::min<int64_t>(chunk, Step::kNone));
      here.scratch_end = std::max(here.scratch_end, found->second + 1);
    }
    return scratch(found->second);
  }

  MscclFifo& fifo(int from, int to, int channel) { return fifos_[{from, to, channel}]; }

  bool can_run(int gpu, int block) {
    ++looks_;
    const MscclBlock& at = block_of(gpu, block);
    const size_t next = of(gpu).done[static_cast<size_t>(block)];
    if (next == at.steps.size()) return false;
    const MscclStep& step = at.steps[next];
    if (step.waits() && of(gpu).done[step.wait_block] <= step.wait_step) return false;
    return !step.type().receives ||
           fifo(at.recv, gpu, at.channel).chunks() >= static_cast<size_t>(step.count);
  }

  Status run_step(int gpu, int block) {
    size_t& done = of(gpu).done[static_cast<size_t>(block)];
    const MscclStep& step = block_of(gpu, block).steps[done];
    if (step.count == 0) append(gpu, {.block = block, .step = static_cast<int>(done)});
    for (int i = 0; i < step.count; ++i) RONDO_TRY(run_chunk(gpu, block, static_cast<int>(done), step, i));
    ++done;
    return moves_ <= kMaxMoves ? Status() : too_many_moves().within(program_.source);
  }

  Status run_chunk(int gpu, int block, int number, const MscclStep& step, int i) {
    const MscclBlock& at = block_of(gpu, block);
    MscclMove move{.block = block, .step = number};
    std::optional<Content> content;
    MscclPart sent;
    if (step.type().receives) {
      move.receive = at.recv;
      std::tie(content, sent) = fifo(at.recv, gpu, at.channel).pop();
    }
    if (step.reads_source()) {
      RONDO_TRY_ASSIGN(const MscclMemory source, read(gpu, step, step.src(i)));
      move.src = source.place;
      RONDO_TRY(add(gpu, step, *source.content, content));
    }
    const MscclPlace to = step.dst(i);
    if (step.type().reduces && !step.type().receives) {
      RONDO_TRY_ASSIGN(const MscclMemory target, read(gpu, step, to));
      RONDO_TRY(add(gpu, step, *target.content, content));
      fold_two(gpu, target.place, content->length, move);
    }
    move.reduces = step.type().reduces;
    move.finish = step.type().reduces && completes(*content);
    if (step.type().copies) {
      if (!is_there(gpu, to)) return wrong(gpu, step, "writes where its memory has ended");
      move.dst = is_deferred(gpu, to, move) ? move.src : home(gpu, key(gpu, to), *content);
      of(gpu).memory.store(key(gpu, to), {content, move.dst});
      if (move.dst.buffer == Buffer::Input) move = {.block = block, .step = number};
    }
    if (step.type().sends) move.send = at.send;
    const MscclPart here = append(gpu, move);
    if (step.type().receives) link(sent, here);
    if (step.type().sends) fifo(gpu, at.send, at.channel).push(*content, here);
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
    return before.block == next.block && before.step == next.step && before.receive == next.receive &&
           before.send == next.send && before.reduces == next.reduces && before.finish == next.finish &&
           !next.only_waits() && !before.only_waits() && continues(before.src, next.src) &&
           continues(before.operand, next.operand) && continues(before.dst, next.dst);
  }
  void link(const MscclPart& sent, const MscclPart& taken) {
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

  /// In place it is in the output from the start; in other calls it gets there first of all.
  void copy_own_block(int gpu) {
    for (int chunk = gpu * chunks_.parts; chunk < (gpu + 1) * chunks_.parts; ++chunk) {
      const MscclPlace own{MscclBuffer::Output, chunk};
      MscclMemory known = memory(gpu, own);
      append(gpu, {.src = known.place, .dst = output(chunk)});
      known.place = output(chunk);
      of(gpu).memory.store(key(gpu, own), known);
    }
  }

  /// Whether it copies a chunk of the input to where it is in calls in place. There the copy must not come
  /// before the last use of the input, so it comes at the end, and until then the input serves as well.
  bool is_deferred(int gpu, MscclPlace to, const MscclMove& move) const {
    if (of(gpu).keeps_own_block || move.receive >= 0 || move.src.buffer != Buffer::Input ||
        move.operand.buffer != Buffer::None)
      return false;
    const Ref place = output_place(gpu, key(gpu, to));
    const Shape shape{.kind = program_.collective, .nranks = nranks_};
    return place.buffer == Buffer::Output &&
           InPlace::input_of_output(shape, gpu, chunks_.parts, place.chunk) == move.src.chunk;
  }

  Result<MscclMemory> read(int gpu, const MscclStep& step, MscclPlace place) {
    if (!is_there(gpu, place)) return wrong(gpu, step, "reads where its memory has ended");
    MscclMemory found = memory(gpu, place);
    if (!found.content) return wrong(gpu, step, "reads what was never written");
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
    sum->ranks = united(sum->ranks, operand.ranks);
    return {};
  }

  /// Chunks that follow one another are mostly sums of the same ranks.
  SummedRanks united(const SummedRanks& a, const SummedRanks& b) {
    if (latest_a_ == a && latest_b_ == b) return latest_union_;
    std::vector<bool> both = *a;
    for (size_t rank = 0; rank < both.size(); ++rank) both[rank] = both[rank] || (*b)[rank];
    latest_a_ = a;
    latest_b_ = b;
    return latest_union_ = std::make_shared<const std::vector<bool>>(std::move(both));
  }

  /// A Step folds one place anywhere with others in Scratch.
  void fold_two(int gpu, Ref target, int length, MscclMove& move) {
    if (target.buffer == Buffer::Scratch) {
      move.operand = target;
      return;
    }
    if (move.src.buffer != Buffer::Scratch) {
      const Ref spare = home_in_scratch(gpu, {MscclCells::kSpare, move.block}, length);
      of(gpu).moves.push_back({.block = move.block, .step = move.step, .src = move.src, .dst = spare});
      move.src = spare;
    }
    move.operand = move.src;
    move.src = target;
  }

  bool is_complete(const Content& content) {
    if (latest_checked_ != content.ranks) {
      latest_checked_ = content.ranks;
      is_latest_complete_ = std::ranges::all_of(*content.ranks, [](bool in) { return in; });
    }
    return is_latest_complete_;
  }
  /// Whether the sum has just become complete.
  bool completes(Content& content) {
    const bool complete = is_complete(content);
    return complete && !std::exchange(content.finished, true);
  }

  Status check_done(int gpu) {
    for (int block = 0; block < static_cast<int>(of(gpu).done.size()); ++block) {
      const MscclBlock& at = block_of(gpu, block);
      const size_t next = of(gpu).done[static_cast<size_t>(block)];
      if (next < at.steps.size())
        return wrong(gpu, at.steps[next], "never runs: what it waits for never comes");
    }
    return {};
  }

  void copy_unwritten_outputs(int gpu) {
    for (int chunk = 0; chunk < chunks_.output; ++chunk) {
      const Ref place = memory(gpu, {MscclBuffer::Output, chunk}).place;
      if (place.buffer == Buffer::Input) append(gpu, {.src = place, .dst = output(chunk)});
    }
  }

  Status wrong(int gpu, const MscclStep& step, std::string_view what) const {
    return error(ErrorKind::ProgramIsWrong, "{}:{}: <step> of type {} of GPU {} {}", program_.source,
                 step.line, step.type().name, gpu, what);
  }

  static constexpr int64_t kMaxLooks = 5'000'000;

  const MscclProgram& program_;
  const CollectiveTraits& kind_;
  const int nranks_;
  const Chunks chunks_;
  const int longest_;
  std::vector<Gpu> gpus_;
  int64_t looks_ = 0;
  size_t moves_ = 0;  // of all GPUs
  std::map<std::tuple<int, int, int>, MscclFifo> fifos_;
  std::vector<MscclLink> links_;
  std::vector<SummedRanks> own_;  // by GPU: itself alone
  SummedRanks latest_a_, latest_b_, latest_union_;
  SummedRanks latest_checked_;
  bool is_latest_complete_ = false;
};

}  // namespace

Result<MscclTrace> trace(const MscclProgram& program) { return MscclRun(program).run(); }

}  // namespace rondo
