// SPDX-License-Identifier: Apache-2.0
#include "msccl_join.h"

#include <algorithm>
#include <utility>

namespace rondo {
namespace {

class Joins {
 public:
  Joins(const MscclProgram& program, MscclTrace& trace)
      : shape_{.kind = program.collective, .nranks = static_cast<int>(trace.gpus.size())}, trace_(trace) {
    for (int gpu = 0; gpu < shape_.nranks; ++gpu) {
      first_move_.push_back(begins_.size());
      for (const MscclMove& move : trace.gpus[static_cast<size_t>(gpu)]) {
        begins_.emplace_back(move.count > 1 ? move.count : 0);
        if (move.count > 1) divide(gpu, move);
      }
    }
    index_links(sent_, &MscclLink::sent);
    index_links(taken_, &MscclLink::taken);
  }

  /// Parts what the other end of a message does not join, until both ends of all messages agree.
  void agree() {
    for (const MscclLink& link : trace_.links)
      for (const MscclPart& end : {link.sent, link.taken}) {
        part(end);
        part(moved(end, link.count));
      }
    for (const MscclLink& link : trace_.links)
      for (int i = 1; i < link.count; ++i) {
        const MscclPart sent = moved(link.sent, i), taken = moved(link.taken, i);
        if (begins(sent) != begins(taken)) part(begins(sent) ? taken : sent);
      }
  }

  Status apply() {
    size_t total = 0;
    for (int gpu = 0; gpu < shape_.nranks; ++gpu) {
      std::vector<MscclMove>& moves = trace_.gpus[static_cast<size_t>(gpu)];
      std::vector<MscclMove> made;
      for (size_t i = 0; i < moves.size() && total + made.size() <= kMaxMoves; ++i)
        cut(moves[i], begins_[first_move_[static_cast<size_t>(gpu)] + i], made);
      total += made.size();
      if (total > kMaxMoves) return too_many_moves();
      moves = std::move(made);
    }
    return {};
  }

 private:
  static MscclPart moved(MscclPart part, int chunks) {
    part.first += chunks;
    return part;
  }
  size_t index(const MscclPart& part) const {
    return first_move_[static_cast<size_t>(part.gpu)] + static_cast<size_t>(part.move);
  }
  /// Whether a move begins with that chunk; also if it is the one after the last.
  bool begins(const MscclPart& part) const {
    const std::vector<bool>& of_move = begins_[index(part)];
    const auto at = static_cast<size_t>(part.first);
    return at == 0 || at >= of_move.size() || of_move[at];
  }

  /// By move: its links, which are in the order of its chunks.
  void index_links(std::vector<std::vector<int>>& links, MscclPart MscclLink::*end) {
    links.resize(begins_.size());
    for (size_t i = 0; i < trace_.links.size(); ++i)
      links[index(trace_.links[i].*end)].push_back(static_cast<int>(i));
  }

  /// Lets a move begin with a chunk, and so those at the other ends of its messages.
  void part(const MscclPart& at) {
    if (begins(at)) return;
    std::vector<MscclPart> left{at};
    while (!left.empty()) {
      const MscclPart here = left.back();
      left.pop_back();
      if (begins(here)) continue;
      begins_[index(here)][static_cast<size_t>(here.first)] = true;
      follow(here, sent_, &MscclLink::sent, &MscclLink::taken, left);
      follow(here, taken_, &MscclLink::taken, &MscclLink::sent, left);
    }
  }
  void follow(const MscclPart& here, const std::vector<std::vector<int>>& links, MscclPart MscclLink::*end,
              MscclPart MscclLink::*other_end, std::vector<MscclPart>& left) const {
    const std::vector<int>& own = links[index(here)];
    const auto next = std::ranges::upper_bound(
        own, here.first, {}, [&](int link) { return (trace_.links[static_cast<size_t>(link)].*end).first; });
    if (next == own.begin()) return;
    const MscclLink& link = trace_.links[static_cast<size_t>(*std::prev(next))];
    const int offset = here.first - (link.*end).first;
    if (offset < link.count) left.push_back(moved(link.*other_end, offset));
  }

  /// Makes as few moves as possible of one, of about the same length, so that both ends of a message divide
  /// it alike.
  void divide(int gpu, const MscclMove& move) {
    std::vector<bool>& begins = begins_.back();
    const int pieces = (move.count + kMaxJoined - 1) / kMaxJoined;
    const int length = (move.count + pieces - 1) / pieces;
    for (int first = 0; first < move.count; first += length) {
      const int end = std::min(move.count, first + length);
      begins[static_cast<size_t>(first)] = true;
      if (!can_be_one(gpu, move, first, end))
        for (int i = first; i < end; ++i) begins[static_cast<size_t>(i)] = true;
    }
  }

  /// Whether none of these chunks is written to where another is read, which, in place, may be in the other
  /// buffer.
  bool can_be_one(int gpu, const MscclMove& move, int first, int end) const {
    for (const Ref from : {move.src, move.operand})
      for (int i = first; i < end; ++i) {
        const int chunk = move.dst.chunk + i;
        const auto is_other = [&](int read) {
          return read != from.chunk + i && read >= from.chunk + first && read < from.chunk + end;
        };
        if (from.buffer == move.dst.buffer && is_other(chunk)) return false;
        if (from.buffer == Buffer::Input && move.dst.buffer == Buffer::Output &&
            is_other(InPlace::input_of_output(shape_, gpu, trace_.chunks.parts, chunk)))
          return false;
      }
    return true;
  }

  static void cut(const MscclMove& move, const std::vector<bool>& begins, std::vector<MscclMove>& made) {
    made.push_back(move);
    made.back().count = 1;
    for (int i = 1; i < move.count; ++i) {
      if (!begins[static_cast<size_t>(i)]) {
        ++made.back().count;
        continue;
      }
      made.push_back(move);
      made.back().count = 1;
      for (Ref* const place : {&made.back().src, &made.back().operand, &made.back().dst})
        if (place->buffer != Buffer::None) place->chunk += i;
    }
  }

  const Shape shape_;
  MscclTrace& trace_;
  std::vector<size_t> first_move_;              // by GPU
  std::vector<std::vector<bool>> begins_;       // by move and chunk: whether a move of its own begins there
  std::vector<std::vector<int>> sent_, taken_;  // by move: links
};

}  // namespace

Status join_chunks(const MscclProgram& program, MscclTrace& trace) {
  Joins joins(program, trace);
  joins.agree();
  return joins.apply();
}

}  // namespace rondo
