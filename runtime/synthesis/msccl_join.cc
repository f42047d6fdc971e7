// SPDX-License-Identifier: Apache-2.0
#include "msccl_join.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "msccl_data.h"

namespace rondo {
namespace {

class Joins {
 public:
  Joins(const MscclProgram& program, MscclTrace& trace)
      : shape_{.kind = program.collective, .nranks = static_cast<int>(trace.gpus.size())}, trace_(trace) {
    for (int gpu = 0; gpu < shape_.nranks; ++gpu) {
      first_move_.push_back(first_chunk_.size());
      for (const MscclMove& move : trace.gpus[static_cast<size_t>(gpu)]) {
        first_chunk_.push_back(static_cast<uint32_t>(begins_.size()));
        if (move.count == 1) continue;
        begins_.resize(begins_.size() + move.count);
        divide(gpu, move);
      }
    }
    first_chunk_.push_back(static_cast<uint32_t>(begins_.size()));
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
        cut(moves[i], first_chunk_[first_move_[static_cast<size_t>(gpu)] + i], made);
      total += made.size();
      if (total > kMaxMoves) return too_many_moves();
      moves = std::move(made);
    }
    return {};
  }

 private:
  /// By move: its links, which are in the order of its chunks.
  struct LinksOfMoves {
    std::vector<uint32_t> first;  // by move, in `links`; and the end
    std::vector<uint32_t> links;
  };

  static MscclPart moved(MscclPart part, int chunks) {
    part.first += chunks;
    return part;
  }
  size_t index(const MscclPart& part) const {
    return first_move_[static_cast<size_t>(part.gpu)] + static_cast<size_t>(part.move);
  }
  /// Whether a move begins with that chunk; also if it is the one after the last.
  bool begins(const MscclPart& part) const {
    const uint32_t first = first_chunk_[index(part)], end = first_chunk_[index(part) + 1];
    const auto at = static_cast<uint32_t>(part.first);
    return at == 0 || at >= end - first || begins_[first + at];
  }

  void index_links(LinksOfMoves& of_moves, MscclPart MscclLink::*end) {
    if (trace_.links.empty()) return;
    of_moves.first.assign(first_chunk_.size() + 1, 0);
    of_moves.links.resize(trace_.links.size());
    // Counted one further on, so that each ends up at the first link of its move.
    for (const MscclLink& link : trace_.links) ++of_moves.first[index(link.*end) + 2];
    for (size_t i = 2; i < of_moves.first.size(); ++i) of_moves.first[i] += of_moves.first[i - 1];
    for (size_t i = 0; i < trace_.links.size(); ++i)
      of_moves.links[of_moves.first[index(trace_.links[i].*end) + 1]++] = static_cast<uint32_t>(i);
  }

  /// Lets a move begin with a chunk, and so those at the other ends of its messages.
  void part(const MscclPart& at) {
    if (begins(at)) return;
    std::vector<MscclPart> left{at};
    while (!left.empty()) {
      const MscclPart here = left.back();
      left.pop_back();
      if (begins(here)) continue;
      begins_[first_chunk_[index(here)] + static_cast<uint32_t>(here.first)] = true;
      follow(here, sent_, &MscclLink::sent, &MscclLink::taken, left);
      follow(here, taken_, &MscclLink::taken, &MscclLink::sent, left);
    }
  }
  void follow(const MscclPart& here, const LinksOfMoves& of_moves, MscclPart MscclLink::*end,
              MscclPart MscclLink::*other_end, std::vector<MscclPart>& left) const {
    const auto own = std::span(of_moves.links)
                         .subspan(of_moves.first[index(here)],
                                  of_moves.first[index(here) + 1] - of_moves.first[index(here)]);
    const auto next = std::ranges::upper_bound(
        own, here.first, {}, [&](uint32_t link) { return (trace_.links[link].*end).first; });
    if (next == own.begin()) return;
    const MscclLink& link = trace_.links[*std::prev(next)];
    const int offset = here.first - (link.*end).first;
    if (offset < link.count) left.push_back(moved(link.*other_end, offset));
  }

  /// Makes as few moves as possible of one, of about the same length, so that both ends of a message divide
  /// it alike.
  void divide(int gpu, const MscclMove& move) {
    const auto begin_at = [&](int chunk) {
      begins_[first_chunk_.back() + static_cast<uint32_t>(chunk)] = true;
    };
    const int pieces = (move.count + kMaxJoined - 1) / kMaxJoined;
    const int length = (move.count + pieces - 1) / pieces;
    for (int first = 0; first < move.count; first += length) {
      const int end = std::min<int>(move.count, first + length);
      begin_at(first);
      if (!can_be_one(gpu, move, first, end))
        for (int i = first; i < end; ++i) begin_at(i);
    }
  }

  /// Whether none of these chunks is written to where another is read, which, in place, may be in the other
  /// buffer.
  bool can_be_one(int gpu, const MscclMove& move, int first, int end) const {
    const Ref to = move.dst();
    for (const Ref from : {move.src(), move.operand()})
      for (int i = first; i < end; ++i) {
        const int chunk = to.chunk + i;
        const auto is_other = [&](int read) {
          return read != from.chunk + i && read >= from.chunk + first && read < from.chunk + end;
        };
        if (from.buffer == to.buffer && is_other(chunk)) return false;
        if (from.buffer == Buffer::Input && to.buffer == Buffer::Output &&
            is_other(InPlace::input_of_output(shape_, gpu, trace_.chunks.parts, chunk)))
          return false;
      }
    return true;
  }

  void cut(const MscclMove& move, uint32_t first_chunk, std::vector<MscclMove>& made) const {
    made.push_back(move);
    made.back().count = 1;
    for (int i = 1; i < move.count; ++i) {
      if (!begins_[first_chunk + static_cast<uint32_t>(i)]) {
        ++made.back().count;
        continue;
      }
      made.push_back(move);
      made.back().count = 1;
      made.back().set_src(place_after(move.src(), i));
      made.back().set_operand(place_after(move.operand(), i));
      made.back().set_dst(place_after(move.dst(), i));
    }
  }

  const Shape shape_;
  MscclTrace& trace_;
  std::vector<size_t> first_move_;     // by GPU
  std::vector<uint32_t> first_chunk_;  // by move, in begins_; and the end. Moves of one chunk have none there
  std::vector<bool> begins_;           // whether a move of its own begins there
  LinksOfMoves sent_, taken_;
};

}  // namespace

Status join_chunks(const MscclProgram& program, MscclTrace& trace) {
  const auto has_more = [](const MscclMove& move) { return move.count > 1; };
  const bool are_all_one = std::ranges::none_of(
      trace.gpus, [&](const std::vector<MscclMove>& moves) { return std::ranges::any_of(moves, has_more); });
  if (are_all_one) return {};
  Joins joins(program, trace);
  joins.agree();
  return joins.apply();
}

}  // namespace rondo
