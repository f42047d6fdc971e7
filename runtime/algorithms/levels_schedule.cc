// SPDX-License-Identifier: Apache-2.0
// The Schedule of an algorithm over levels, around that of the call between groups.
#include <algorithm>
#include <functional>
#include <optional>
#include <vector>

#include "between_groups.h"
#include "groups.h"
#include "parts.h"
#include "schedule/staged.h"

namespace rondo {
namespace {

/// The order in which a call between groups needs the chunks of a buffer, or has them ready.
std::vector<int> order_of(const Schedule& call, Buffer buffer, int chunks, int of_each) {
  std::vector<int> ready(static_cast<size_t>(chunks / of_each), 0);
  for (const Lane& lane : call.lanes)
    for (size_t i = lane.steps.size(); i-- > 0;) {
      const Step& step = lane.steps[i];
      const bool reads = buffer == Buffer::Input;
      if ((reads ? step.src() : step.dst()) != buffer) continue;
      const int first = reads ? step.src_chunk : step.dst_chunk;
      for (int chunk = first; chunk < first + step.count; ++chunk) {
        int& when = ready[static_cast<size_t>(chunk / of_each)];
        when = reads ? static_cast<int>(i) : std::max(when, static_cast<int>(i));
      }
    }
  std::vector<int> order = all_ranks(chunks / of_each);
  std::ranges::stable_sort(order, {}, [&](int chunk) { return ready[static_cast<size_t>(chunk)]; });
  return order;
}

/// What one rank does, over the first level. Lanes: kFirst within the group before the call between groups,
/// kLast after it.
class Builder {
 public:
  Builder(const Algorithm& across, const Shape& shape, int rank)
      : Builder(across, Between(across, shape, Groups::smallest(shape, rank).place()), shape, rank) {}

  Schedule build(int slot_chunks) {
    switch (shape_.kind) {
      case CollectiveKind::AllReduce: all_reduce(); break;
      case CollectiveKind::AllGather: all_gather(); break;
      case CollectiveKind::ReduceScatter: reduce_scatter(); break;
      case CollectiveKind::Broadcast: broadcast(); break;
      case CollectiveKind::Reduce: reduce(); break;
      case CollectiveKind::Scan:
      case CollectiveKind::Exscan: scan(); break;
      default: all_to_all(); break;
    }
    return schedule_.build(slot_chunks);
  }

 private:
  enum : int { kFirst, kLast, kBetween };

  Builder(const Algorithm& across, const Between& between, const Shape& shape, int rank)
      : shape_(shape),
        collects_(between.collects()),
        groups_(Groups::smallest(shape, rank)),
        rank_(rank),
        call_(between.build(groups_.group())),
        first_call_(between.depends_on_place() ? std::optional(Between(across, shape).build(groups_.group()))
                                               : std::nullopt),
        call_parts_(between.parts()),
        scale_(between.scale()),
        pieces_(between.pieces()),
        shares_(across, shape),
        parts_(shares_.parts()),
        schedule_(shape, rank, parts_) {
    if (!traits(shape.kind).has_blocks()) return;
    for (int place = 0; place < groups_.size(); ++place) {
      runs_.push_back(shares_.runs(place));
      max_runs_ = std::max(max_runs_, runs_.back().size());
    }
  }

  // Of kinds that have one vector: a share for each place, of pieces that messages within groups carry.
  int count(int place) const { return shares_.length(place) / pieces_; }  // parts of a piece
  int first(int place, int piece) const { return shares_.first(place) + piece * count(place); }
  int own_count() const { return count(groups_.place()); }
  int own(int piece) const { return first(groups_.place(), piece); }
  std::vector<int> pieces(Buffer buffer) const {
    return order_of(call_, buffer, call_parts_, call_parts_ / pieces_);
  }
  std::vector<int> pieces_needed() const { return pieces(Buffer::Input); }
  std::vector<int> pieces_ready() const { return pieces(Buffer::Output); }
  bool in_roots_group() const { return groups_.group_of(shape_.root) == groups_.group(); }
  bool is_root() const { return rank_ == shape_.root; }

  /// Nothing at ranks that have no place.
  void call_between(const std::function<Ref(Ref)>& chunk, int scale = 1) {
    if (!groups_.has_place()) return;
    schedule_.add_call(call_, kBetween,
                       {.rank = [this](int group) { return groups_.rank_at(group, groups_.place()); },
                        .chunk = chunk,
                        .scale = scale});
  }
  /// For a part of the own share, from its first.
  Ref in_scratch(int row, int at) const { return scratch(row * shares_.all() + own(0) + at); }
  /// A chunk of the call between groups, which is for the own share. Its Scratch follows that of this level,
  /// which takes up to that many vectors.
  Ref in_share(Ref chunk, Buffer input, Buffer output, int vectors = 1) const {
    if (chunk.buffer == Buffer::Scratch)
      return in_scratch(chunk.chunk / call_parts_ + vectors, chunk.chunk % call_parts_ * scale_);
    return {chunk.buffer == Buffer::Input ? input : output, own(0) + chunk.chunk * scale_};
  }

  /// Of a piece of each share.
  void send_shares(int piece) {
    for (const int mate : groups_.mates_with_places()) {
      const int place = groups_.place_of(mate);
      schedule_.add(kFirst, {.src = input(first(place, piece)), .send = {mate}, .count = count(place)});
    }
  }
  void receive_shares(const std::vector<int>& from, int piece) {
    for (const int mate : from) {
      const int place = groups_.place_of(mate);
      schedule_.add(kLast, {.recv = {mate}, .dst = output(first(place, piece)), .count = count(place)});
    }
  }

  /// Sends the others' shares, and folds the own one.
  void fold_shares(Buffer into) {
    for (const int piece : pieces_needed()) {
      send_shares(piece);
      if (groups_.has_place())
        schedule_.add(kFirst, {.recv = groups_.whole_group(),
                               .src = input(own(piece)),
                               .dst = {into, own(piece)},
                               .count = own_count()});
    }
  }
  void gather_shares(const std::vector<int>& from, const std::vector<int>& to) {
    for (const int piece : pieces_ready()) {
      if (groups_.has_place() && !to.empty())
        schedule_.add(kLast, {.src = output(own(piece)), .send = to, .count = own_count()});
      receive_shares(from, piece);
    }
  }

  void all_reduce() {
    fold_shares(Buffer::Output);
    call_between([this](Ref chunk) { return in_share(chunk, Buffer::Output, Buffer::Output); }, scale_);
    gather_shares(groups_.mates_with_places(), groups_.mates());
  }

  void broadcast() {
    std::vector<int> others = groups_.mates();
    if (in_roots_group()) {
      scatter_shares();
      std::erase(others, shape_.root);
    }
    const Buffer held = is_root() ? Buffer::Input : Buffer::Output;
    call_between([this, held](Ref chunk) { return in_share(chunk, held, Buffer::Output); }, scale_);
    // A large host has much to send within, and the others wait for what it sends them.
    if (!shape_.hosts.empty() && in_roots_group()) schedule_.wait(kLast, kBetween);
    gather_shares(is_root() ? std::vector<int>() : groups_.mates_with_places(), others);
  }
  void scatter_shares() {
    for (const int piece : pieces_needed()) {
      if (!is_root()) {
        if (groups_.has_place())
          schedule_.add(kFirst, {.recv = {shape_.root}, .dst = output(own(piece)), .count = own_count()});
        continue;
      }
      for (const int mate : groups_.mates_with_places()) {
        const int place = groups_.place_of(mate), to = first(place, piece);
        schedule_.add(kFirst, {.src = input(to), .dst = output(to), .send = {mate}, .count = count(place)});
      }
    }
  }

  void reduce() {
    const Buffer held = is_root() ? Buffer::Output : Buffer::Scratch;
    fold_shares(held);
    call_between([this, held](Ref chunk) { return in_share(chunk, held, held); }, scale_);
    if (!in_roots_group()) return;
    for (const int piece : pieces_ready()) {
      if (is_root())
        receive_shares(groups_.mates_with_places(), piece);
      else if (groups_.has_place())
        schedule_.add(kLast, {.src = {held, own(piece)}, .send = {shape_.root}, .count = own_count()});
    }
  }

  /// Scratch has the prefixes of the own group, by place, and the fold of the groups before.
  void scan() {
    const int members = static_cast<int>(groups_.whole_group().size());
    for (const int piece : pieces_needed()) {
      send_shares(piece);
      if (groups_.has_place()) fold_prefixes(piece * own_count(), members);
    }
    call_between(
        [this, members](Ref chunk) {
          if (chunk.buffer == Buffer::Scratch) return in_share(chunk, {}, {}, members + 1);
          return in_scratch(chunk.buffer == Buffer::Input ? members - 1 : members, chunk.chunk * scale_);
        },
        scale_);
    // Its results depend on no other group, all of whose results depend on what it sends them.
    if (groups_.group() == 0) schedule_.wait(kLast, kBetween);
    const bool has_result = traits(shape_.kind).has_result(rank_, shape_.root);
    for (const int piece : pieces_ready()) {
      if (groups_.has_place()) send_prefixes(piece * own_count(), members);
      if (has_result) receive_shares(groups_.mates_with_places(), piece);
    }
  }
  /// Of a piece of the own share, from its part `at` on.
  void fold_prefixes(int at, int members) {
    for (int place = 0; place < members; ++place) {
      const int member = groups_.rank_at(groups_.group(), place);
      Move move{.dst = in_scratch(place, at), .count = own_count()};
      if (member == rank_) move.src = input(own(0) + at);
      if (place > 0) move.recv = {scratch_operand(in_scratch(place - 1, at).chunk), member};
      if (place == 0 && member != rank_) move.recv = {member};
      schedule_.add(kFirst, move);
    }
  }
  void send_prefixes(int at, int members) {
    std::vector<int> all = groups_.mates();
    all.push_back(rank_);
    for (const int member : all) {
      const int last = groups_.place_of(member) - (shape_.kind == CollectiveKind::Exscan ? 1 : 0);
      if (last < 0 && groups_.group() == 0) continue;
      Move move{.src = in_scratch(last < 0 ? members : last, at), .count = own_count()};
      if (last >= 0 && groups_.group() > 0)
        move.recv = {scratch_operand(in_scratch(members, at).chunk), rank_};
      if (member == rank_)
        move.dst = output(own(0) + at);
      else
        move.send = {member};
      schedule_.add(kLast, move);
    }
  }

  // Of kinds that have blocks: runs of those of each group, with a call between groups for each.
  using Runs = std::vector<PartRun>;
  const Runs& own_runs() const { return runs_of(rank_); }
  const Runs& runs_of(int member) const { return runs_[static_cast<size_t>(groups_.place_of(member))]; }
  int part_of(int group, const PartRun& run) const {
    return groups_.rank_at(group, run.place) * parts_ + run.first;
  }
  /// Calls `take` with the runs of the ranks of the own group, in each group: in the order in which the
  /// calls between groups need them, or have them ready, which is the same for all of these ranks.
  void for_runs(Buffer buffer, const std::vector<int>& members,
                const std::function<void(int member, int group, const PartRun& run)>& take) {
    const Schedule& call = first_call_ ? *first_call_ : call_;
    const int of_each = call.chunks.parts;
    const std::vector<int> groups = order_of(call, buffer, groups_.count() * of_each, of_each);
    for (size_t nth = 0; nth < max_runs_; ++nth)
      for (const int group : groups)
        for (const int member : members)
          if (nth < runs_of(member).size()) take(member, group, runs_of(member)[nth]);
  }
  /// The call between groups for each run. `begin` tells where the run of a block of the call is.
  void calls_between(const std::function<Ref(const PartRun& own, Buffer buffer, int block)>& begin) {
    for (const PartRun& own : own_runs()) {
      const int scale = own.count / call_parts_;
      call_between(
          [&](Ref chunk) {
            Ref at = begin(own, chunk.buffer, chunk.chunk / call_parts_);
            at.chunk += chunk.chunk % call_parts_ * scale;
            return at;
          },
          scale);
    }
  }

  /// A place in Scratch as long as the run of the block at that index of the call between groups.
  int scratch_of(const PartRun& own, int index) const {
    const int groups = groups_.count(), vector = index / groups, group = index % groups;
    const Runs& all = own_runs();
    const int block =
        shape_.varying ? vector * shape_.nranks + groups_.rank_at(group, own.place)
                       : (vector * static_cast<int>(all.size()) + own.place - all[0].place) * groups + group;
    return block * parts_ + own.first;
  }

  /// Where a part of another rank's block waits to be handed over.
  int handed(const PartRun& own) const { return scratch_of(own, groups_.count() + groups_.group()); }

  /// Scratch has the folds of the own group, then, if shares cross blocks, what is to be handed over, then
  /// that of the calls between groups.
  void reduce_scatter() {
    std::vector<int> members = groups_.mates();
    members.push_back(rank_);
    for_runs(Buffer::Input, members, [this](int member, int group, const PartRun& run) {
      Move move{.src = input(part_of(group, run)), .count = run.count};
      if (member == rank_) {
        move.recv = groups_.whole_group();
        move.dst = scratch(scratch_of(run, group));
      } else {
        move.send = {member};
      }
      schedule_.add(kFirst, move);
    });
    const int groups = groups_.count(), calls = shares_.cross_blocks() ? 2 * groups : groups;
    calls_between([=, this](const PartRun& own, Buffer buffer, int block) {
      if (buffer == Buffer::Input) return scratch(scratch_of(own, block));
      if (buffer == Buffer::Scratch) return scratch(scratch_of(own, calls + block));
      return own.place == groups_.place() ? output(own.first) : scratch(handed(own));
    });
    hand_over();
  }
  /// What is complete of blocks of other ranks of the group.
  void hand_over() {
    for (const PartRun& own : own_runs())
      if (own.place != groups_.place())
        schedule_.add(kLast, {.src = scratch(handed(own)),
                              .send = {groups_.rank_at(groups_.group(), own.place)},
                              .count = own.count});
    for (const int mate : groups_.mates())
      for (const PartRun& run : runs_of(mate))
        if (run.place == groups_.place())
          schedule_.add(kLast, {.recv = {mate}, .dst = output(run.first), .count = run.count});
  }

  void all_gather() {
    if (collects_) {
      collect_blocks();
      return;
    }
    const bool exchanges = shares_.cross_blocks();
    if (exchanges) exchange_blocks();
    calls_between([=, this](const PartRun& own, Buffer buffer, int block) {
      if (buffer == Buffer::Output) return output(part_of(block, own));
      return exchanges ? output(part_of(groups_.group(), own)) : input(own.first);
    });
    std::vector<int> members = groups_.mates();
    members.insert(members.begin(), rank_);
    for_runs(Buffer::Output, members, [=, this](int member, int group, const PartRun& run) {
      if (exchanges && group == groups_.group()) return;
      const Ref block = output(part_of(group, run));
      if (member == rank_)
        schedule_.add(kLast, {.src = block, .send = groups_.mates(), .count = run.count});
      else
        schedule_.add(kLast, {.recv = {member}, .dst = block, .count = run.count});
    });
  }
  /// Those of the own group, whole.
  void exchange_blocks() {
    const auto block = [this](int rank) { return output(rank * parts_); };
    schedule_.add(kFirst, {.src = input(0), .dst = block(rank_), .send = groups_.mates(), .count = parts_});
    for (const int mate : groups_.mates())
      schedule_.add(kFirst, {.recv = {mate}, .dst = block(mate), .count = parts_});
  }
  /// All blocks of a place in one message. Scratch has a run of blocks for each place of the group, then that
  /// of the call between groups.
  void collect_blocks() {
    const int groups = groups_.count();
    const auto run = [&](int place) { return place * groups; };
    call_between([&](Ref chunk) {
      if (chunk.buffer == Buffer::Output) return scratch(run(groups_.place()) + chunk.chunk);
      return chunk.buffer == Buffer::Scratch ? scratch(run(groups_.size()) + chunk.chunk) : chunk;
    });
    schedule_.add(kLast, {.src = scratch(run(groups_.place())), .send = groups_.mates(), .count = groups});
    for (int group = 0; group < groups; ++group)
      schedule_.add(kLast, {.src = scratch(run(groups_.place()) + group),
                            .dst = output(groups_.rank_at(group, groups_.place()))});
    for (const int mate : groups_.mates()) {
      const int place = groups_.place_of(mate);
      schedule_.add(kLast, {.recv = {mate}, .dst = scratch(run(place)), .count = groups});
      for (int group = 0; group < groups; ++group)
        schedule_.add(kLast,
                      {.src = scratch(run(place) + group), .dst = output(groups_.rank_at(group, place))});
    }
  }

  /// Scratch has the blocks of the own group for the own place of each group, as many from the own place of
  /// each group, then that of the call between groups.
  void all_to_all() {
    const int size = groups_.size(), all = shape_.nranks;
    for (const int group : order_of(call_, Buffer::Input, groups_.count(), 1)) {
      for (const int mate : groups_.mates())
        schedule_.add(kFirst, {.src = input(groups_.rank_at(group, groups_.place_of(mate))), .send = {mate}});
      schedule_.add(kFirst, {.src = input(groups_.rank_at(group, groups_.place())),
                             .dst = scratch(group * size + groups_.place())});
      for (const int mate : groups_.mates())
        schedule_.add(kFirst, {.recv = {mate}, .dst = scratch(group * size + groups_.place_of(mate))});
    }
    call_between(
        [&](Ref chunk) {
          const int first = chunk.buffer == Buffer::Input    ? 0
                            : chunk.buffer == Buffer::Output ? all
                                                             : 2 * all;
          return scratch(first + chunk.chunk * size);
        },
        size);
    for (const int group : order_of(call_, Buffer::Output, groups_.count(), 1))
      for (int place = 0; place < size; ++place)
        schedule_.add(kLast, {.src = scratch(all + group * size + place),
                              .dst = output(groups_.rank_at(group, place))});
  }

  const Shape shape_;
  const bool collects_;  // see Between
  const Groups groups_;
  const int rank_;
  const Schedule call_;
  const std::optional<Schedule> first_call_;  // that of the first place, if others may have another
  const int call_parts_;                      // of a vector in that call, each of which stands for `scale_`
  const int scale_;
  const int pieces_;  // of a share
  const Shares shares_;
  const int parts_;         // of the vector, or of each block
  std::vector<Runs> runs_;  // of blocks, by place
  size_t max_runs_ = 0;
  StagedSchedule schedule_;
};

}  // namespace

Schedule schedule_over(const Algorithm& across, const Shape& shape, int rank, int slot_chunks) {
  return Builder(across, shape, rank).build(slot_chunks);
}

}  // namespace rondo
