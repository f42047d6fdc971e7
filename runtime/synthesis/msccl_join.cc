// SPDX-License-Identifier: Apache-2.0
#include "msccl_join.h"

#include <algorithm>
#include <array>
#include <utility>

namespace rondo {
namespace {

bool follows(Ref before, Ref next) {
  return before.buffer == next.buffer && (next.buffer == Buffer::None || next.chunk == before.chunk + 1);
}

/// Whether one Step could move both, as far as their own rank is concerned.
bool follows(const MscclMove& before, const MscclMove& next) {
  return before.block == next.block && before.step == next.step && before.receive == next.receive &&
         before.send == next.send && before.reduces == next.reduces && before.finish == next.finish &&
         !next.only_waits() && follows(before.src, next.src) && follows(before.operand, next.operand) &&
         follows(before.dst, next.dst);
}

class Joins {
 public:
  Joins(const MscclProgram& program, MscclTrace& trace)
      : shape_{.kind = program.collective, .nranks = static_cast<int>(trace.gpus.size())}, trace_(trace) {
    for (int gpu = 0; gpu < shape_.nranks; ++gpu) {
      const std::vector<MscclMove>& moves = moves_of(gpu);
      std::vector<bool>& joined = joined_.emplace_back(moves.size());
      for (size_t i = 1; i < moves.size(); ++i) joined[i] = follows(moves[i - 1], moves[i]);
      for (size_t first = 0, end = 0; first < moves.size(); first = end) {
        for (end = first + 1; end < moves.size() && joined[end];) ++end;
        divide(gpu, first, end);
      }
    }
  }

  /// Parts what the other end of a message cannot join, until both ends of all messages agree.
  void agree() {
    std::vector<std::pair<int, size_t>> parted;
    const auto part = [&](int gpu, size_t i) {
      joined_of(gpu)[i] = false;
      parted.emplace_back(gpu, i);
    };
    for (int gpu = 0; gpu < shape_.nranks; ++gpu)
      for (size_t i = 1; i < moves_of(gpu).size(); ++i)
        for (const auto& [peer, there] : other_ends(gpu, i))
          if (joined_of(gpu)[i] && peer >= 0 && (there == 0 || !joined_of(peer)[there])) part(gpu, i);
    while (!parted.empty()) {
      const auto [gpu, i] = parted.back();
      parted.pop_back();
      for (const auto& [peer, there] : other_ends(gpu, i))
        if (peer >= 0 && there != 0 && joined_of(peer)[there]) part(peer, there);
    }
  }

  void apply() {
    for (int gpu = 0; gpu < shape_.nranks; ++gpu) {
      std::vector<MscclMove> made;
      for (size_t i = 0; i < moves_of(gpu).size(); ++i)
        if (joined_of(gpu)[i])
          ++made.back().count;
        else
          made.push_back(moves_of(gpu)[i]);
      moves_of(gpu) = std::move(made);
    }
  }

 private:
  std::vector<MscclMove>& moves_of(int gpu) { return trace_.gpus[static_cast<size_t>(gpu)]; }
  std::vector<bool>& joined_of(int gpu) { return joined_[static_cast<size_t>(gpu)]; }

  /// Makes as few moves as possible of those from first to end, of about the same length, so that both ends
  /// of a message divide it alike.
  void divide(int gpu, size_t first, size_t end) {
    const size_t most = kMaxJoined, pieces = (end - first + most - 1) / most;
    const size_t length = (end - first + pieces - 1) / pieces;
    for (; first < end; first += length) {
      joined_of(gpu)[first] = false;
      const size_t next = std::min(end, first + length);
      if (!can_be_one(gpu, first, static_cast<int>(next - first)))
        for (size_t i = first + 1; i < next; ++i) joined_of(gpu)[i] = false;
    }
  }

  /// Whether none of these chunks is written to where another is read, which, in place, may be in the other
  /// buffer.
  bool can_be_one(int gpu, size_t first, int count) {
    const MscclMove& move = moves_of(gpu)[first];
    for (const Ref from : {move.src, move.operand})
      for (int i = 0; i < count; ++i) {
        const int chunk = move.dst.chunk + i;
        const auto is_other = [&](int read) {
          return read != from.chunk + i && read >= from.chunk && read < from.chunk + count;
        };
        if (from.buffer == move.dst.buffer && is_other(chunk)) return false;
        if (from.buffer == Buffer::Input && move.dst.buffer == Buffer::Output &&
            is_other(InPlace::input_of_output(shape_, gpu, trace_.chunks.parts, chunk)))
          return false;
      }
    return true;
  }

  /// At the GPUs that the move i and the one before receive from and send to: the later of the two moves at
  /// the other end; 0: they are not neighbours there. The GPU is -1 if they do not receive, or send.
  std::array<std::pair<int, size_t>, 2> other_ends(int gpu, size_t i) {
    const MscclMove& before = moves_of(gpu)[i - 1];
    const MscclMove& move = moves_of(gpu)[i];
    const auto later = [](int one, int other) {
      return one >= 0 && other == one + 1 ? static_cast<size_t>(other) : 0;
    };
    return {std::pair{move.receive, later(before.sent_by, move.sent_by)},
            std::pair{move.send, later(before.taken_by, move.taken_by)}};
  }

  const Shape shape_;
  MscclTrace& trace_;
  std::vector<std::vector<bool>> joined_;  // by GPU and move: with the move before
};

}  // namespace

void join_chunks(const MscclProgram& program, MscclTrace& trace) {
  Joins joins(program, trace);
  joins.agree();
  joins.apply();
}

}  // namespace rondo
