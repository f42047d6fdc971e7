// SPDX-License-Identifier: Apache-2.0
#include "over_levels.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "groups.h"
#include "parts.h"
#include "schedule/staged.h"

namespace rondo {
namespace {

/// The call between the groups of the first level, as the ranks at one place of them make it.
Shape call_between(const Shape& shape) {
  const int size = shape.levels.innermost();
  return {.kind = shape.kind,
          .nranks = shape.nranks / size,
          .root = shape.root / size,
          .varying = shape.varying,
          .commutative = shape.commutative,
          .levels = shape.levels.outside()};
}

/// The algorithm between groups, which is one over levels itself if there are more levels.
class Between {
 public:
  Between(const Algorithm& across, const Shape& shape) : across_(across), call_(call_between(shape)) {}

  const Shape& call() const { return call_; }
  bool is_last() const { return call_.levels.empty(); }
  bool supports() const { return is_last() ? across_.supports(call_) : next_supports(); }
  int parts() const { return is_last() ? across_.parts(call_) : next_parts(); }
  int max_count() const { return is_last() ? across_.max_count(call_) : next_max_count(); }
  Cost cost() const { return is_last() ? across_.cost(call_) : next_cost(); }
  Cost inner_cost(int level) const;
  /// Of all levels.
  double rounds() const {
    double all = cost().rounds;
    for (int level = 0; level < call_.levels.count(); ++level) all += inner_cost(level).rounds;
    return all;
  }
  Schedule build(int group) const;

 private:
  bool next_supports() const;
  int next_parts() const;
  int next_max_count() const;
  Cost next_cost() const;

  const Algorithm& across_;
  Shape call_;
};

/// Several blocks in a message between groups: those have to be consecutive, and are collected in Scratch.
bool collects(const Between& between, CollectiveKind kind) {
  return kind == CollectiveKind::AllToAll || (kind == CollectiveKind::AllGather && between.max_count() > 1);
}

/// In how many messages a share travels within a group: in one, or chunk by chunk, if they travel so between
/// groups, one after the other.
int pieces_of(const Between& between) {
  const int parts = between.parts();
  return between.max_count() == 1 && between.call().nranks > 2 && between.cost().rounds >= parts ? parts : 1;
}

/// How many times the chunks of all blocks, or of the vector, Scratch has at most: each level has its own.
int scratch_of_levels(const Shape& shape) {
  switch (shape.kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::Broadcast: return 0;
    case CollectiveKind::AllToAll: return 2 * shape.levels.count();
    default: return shape.levels.count() + 1;
  }
}

bool can(const Algorithm& across, const Shape& shape) {
  if (!has_groups(shape)) return false;
  const Between between(across, shape);
  if (!between.supports()) return false;
  const int64_t size = shape.levels.innermost(), scratch = std::max(1, scratch_of_levels(shape));
  if (!traits(shape.kind).has_blocks())
    return fits(shape, 4 * size * pieces_of(between), size * between.parts() * scratch);
  if (shape.varying && (collects(between, shape.kind) || between.max_count() > 1)) return false;
  return fits(shape, int64_t{4} * shape.nranks, scratch);
}

int parts_over(const Algorithm& across, const Shape& shape) {
  if (traits(shape.kind).has_blocks()) return 1;
  return shape.levels.innermost() * Between(across, shape).parts();
}

int max_count_over(const Algorithm& across, const Shape& shape) {
  const Between between(across, shape);
  switch (shape.kind) {
    case CollectiveKind::AllToAll: return shape.levels.innermost() * between.max_count();
    case CollectiveKind::AllGather: return collects(between, shape.kind) ? between.call().nranks : 1;
    case CollectiveKind::ReduceScatter: return between.max_count();
    default: return std::max(between.max_count(), between.parts() / pieces_of(between));
  }
}

/// What a share of the data costs, if `cost` is that of all.
Cost of_share(Cost cost, double share) {
  for (double* volume : {&cost.volume, &cost.steady, &cost.folds, &cost.warm, &cost.mean.volume,
                         &cost.mean.folds, &cost.mean.warm})
    *volume *= share;
  return cost;
}

/// The share of a rank's data that it handles between groups.
double share_between(const Shape& shape) {
  return shape.kind == CollectiveKind::AllToAll ? 1 : 1.0 / shape.levels.innermost();
}

/// Within the smallest groups.
Cost cost_within(const Algorithm& across, const Shape& shape) {
  const Between between(across, shape);
  const double size = shape.levels.innermost(), mates = size - 1, groups = between.call().nranks;
  const double vector = mates / size, pieces = pieces_of(between);
  const double folds = between.cost().folds == 0 ? 0 : vector;  // as far as the kind's algorithms say so
  switch (shape.kind) {
    case CollectiveKind::AllReduce:
      return {.rounds = 2,
              .volume = 2 * vector,
              .steady = 2 * vector,
              .messages = 2 * mates * pieces,
              .folds = folds};
    case CollectiveKind::AllGather:
      return {.rounds = collects(between, shape.kind) ? 1 : std::max(1.0, groups - between.rounds()),
              .volume = vector,
              .steady = vector,
              .messages = mates * (collects(between, shape.kind) ? 1 : groups)};
    case CollectiveKind::ReduceScatter:
      return {.rounds = std::max(1.0, groups - between.rounds()),
              .volume = vector,
              .steady = vector,
              .messages = mates * groups,
              .folds = folds};
    case CollectiveKind::Broadcast:
      // In a single tile, shares that come from the root one after the other meet at the ports.
      return {.rounds = 2,
              .volume = 2 * vector + (mates - 1) / size,
              .steady = 2 * vector,
              .messages = 2 * mates * pieces,
              .mean = {.volume = vector, .messages = mates * pieces}};
    case CollectiveKind::Reduce:
      return {.rounds = 2,
              .volume = 2 * vector,
              .steady = 2 * vector,
              .messages = (mates + 1) * pieces,
              .folds = folds,
              .mean = {.volume = vector + vector / shape.nranks,
                       .messages = (mates + mates / shape.nranks) * pieces,
                       .folds = folds}};
    default:
      return {.rounds = std::max(1.0, groups - between.rounds()),
              .volume = vector,
              .steady = vector,
              .messages = mates * groups};
  }
}

bool Between::next_supports() const { return can(across_, call_); }
int Between::next_parts() const { return parts_over(across_, call_); }
int Between::next_max_count() const { return max_count_over(across_, call_); }
Cost Between::next_cost() const { return of_share(Between(across_, call_).cost(), share_between(call_)); }

Cost Between::inner_cost(int level) const {
  if (level == 0) return cost_within(across_, call_);
  return of_share(Between(across_, call_).inner_cost(level - 1), share_between(call_));
}

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
      : shape_(shape),
        between_(across, shape),
        groups_(shape.nranks / shape.levels.innermost(), shape.levels.innermost(), rank),
        rank_(rank),
        call_(between_.build(groups_.group())),
        parts_(between_.parts()),
        pieces_(pieces_of(between_)),
        count_(parts_ / pieces_),
        schedule_(shape, rank, parts_over(across, shape)) {}

  Schedule build(int slot_chunks) {
    switch (shape_.kind) {
      case CollectiveKind::AllReduce: all_reduce(); break;
      case CollectiveKind::AllGather: all_gather(); break;
      case CollectiveKind::ReduceScatter: reduce_scatter(); break;
      case CollectiveKind::Broadcast: broadcast(); break;
      case CollectiveKind::Reduce: reduce(); break;
      default: all_to_all(); break;
    }
    return schedule_.build(slot_chunks);
  }

 private:
  enum : int { kFirst, kLast, kBetween };

  // Of kinds that have one vector: a share for each place, of pieces that messages within groups carry.
  int share(int place) const { return place * parts_; }
  int own_share() const { return share(groups_.place()); }
  std::vector<int> pieces_needed() const { return order_of(call_, Buffer::Input, parts_, count_); }
  std::vector<int> pieces_ready() const { return order_of(call_, Buffer::Output, parts_, count_); }
  bool in_roots_group() const { return groups_.group_of(shape_.root) == groups_.group(); }
  bool is_root() const { return rank_ == shape_.root; }

  void call_between(const std::function<Ref(Ref)>& chunk, int scale = 1) {
    schedule_.add_call(call_, kBetween,
                       {.rank = [this](int group) { return groups_.rank_at(group, groups_.place()); },
                        .chunk = chunk,
                        .scale = scale});
  }
  /// Within an own share. Scratch follows that of this level, which takes up to one vector.
  Ref in_share(Ref chunk, Buffer input, Buffer output) const {
    if (chunk.buffer == Buffer::Scratch) {
      const int vector = parts_ * groups_.size();
      return scratch((chunk.chunk / parts_ + 1) * vector + own_share() + chunk.chunk % parts_);
    }
    return {chunk.buffer == Buffer::Input ? input : output, own_share() + chunk.chunk};
  }

  /// Sends the others' shares, and folds the own one.
  void fold_shares(Buffer into) {
    for (const int piece : pieces_needed()) {
      const int at = piece * count_;
      for (const int mate : groups_.mates())
        schedule_.add(kFirst,
                      {.src = input(share(groups_.place_of(mate)) + at), .send = {mate}, .count = count_});
      schedule_.add(kFirst, {.recv = groups_.whole_group(),
                             .src = input(own_share() + at),
                             .dst = {into, own_share() + at},
                             .count = count_});
    }
  }
  void gather_shares(const std::vector<int>& from, const std::vector<int>& to) {
    for (const int piece : pieces_ready()) {
      const int at = piece * count_;
      if (!to.empty()) schedule_.add(kLast, {.src = output(own_share() + at), .send = to, .count = count_});
      for (const int mate : from)
        schedule_.add(kLast,
                      {.recv = {mate}, .dst = output(share(groups_.place_of(mate)) + at), .count = count_});
    }
  }

  void all_reduce() {
    fold_shares(Buffer::Output);
    call_between([this](Ref chunk) { return in_share(chunk, Buffer::Output, Buffer::Output); });
    gather_shares(groups_.mates(), groups_.mates());
  }

  void broadcast() {
    std::vector<int> others = groups_.mates();
    if (in_roots_group()) {
      scatter_shares();
      std::erase(others, shape_.root);
    }
    const Buffer held = is_root() ? Buffer::Input : Buffer::Output;
    call_between([this, held](Ref chunk) { return in_share(chunk, held, Buffer::Output); });
    gather_shares(is_root() ? std::vector<int>() : groups_.mates(), others);
  }
  void scatter_shares() {
    for (const int piece : pieces_needed()) {
      const int at = piece * count_;
      if (!is_root()) {
        schedule_.add(kFirst, {.recv = {shape_.root}, .dst = output(own_share() + at), .count = count_});
        continue;
      }
      for (const int mate : groups_.mates()) {
        const int to = share(groups_.place_of(mate)) + at;
        schedule_.add(kFirst, {.src = input(to), .dst = output(to), .send = {mate}, .count = count_});
      }
    }
  }

  void reduce() {
    const Buffer held = is_root() ? Buffer::Output : Buffer::Scratch;
    fold_shares(held);
    call_between([this, held](Ref chunk) { return in_share(chunk, held, held); });
    if (!in_roots_group()) return;
    for (const int piece : pieces_ready()) {
      const int at = piece * count_;
      if (!is_root()) {
        schedule_.add(kLast, {.src = {held, own_share() + at}, .send = {shape_.root}, .count = count_});
        continue;
      }
      for (const int mate : groups_.mates())
        schedule_.add(kLast,
                      {.recv = {mate}, .dst = output(share(groups_.place_of(mate)) + at), .count = count_});
    }
  }

  /// A place in Scratch as long as the block at that index of the call between groups.
  int scratch_of_block(int index) const {
    const int groups = groups_.count();
    if (!shape_.varying) return index;
    return index / groups * shape_.nranks + groups_.rank_at(index % groups, groups_.place());
  }

  void reduce_scatter() {
    for (const int group : order_of(call_, Buffer::Input, groups_.count(), 1)) {
      for (const int mate : groups_.mates())
        schedule_.add(kFirst, {.src = input(groups_.rank_at(group, groups_.place_of(mate))), .send = {mate}});
      schedule_.add(kFirst, {.recv = groups_.whole_group(),
                             .src = input(groups_.rank_at(group, groups_.place())),
                             .dst = scratch(scratch_of_block(group))});
    }
    call_between([this](Ref chunk) {
      if (chunk.buffer == Buffer::Output) return chunk;
      const int first = chunk.buffer == Buffer::Scratch ? groups_.count() : 0;
      return scratch(scratch_of_block(first + chunk.chunk));
    });
  }

  void all_gather() {
    if (collects(between_, shape_.kind)) {
      collect_blocks();
      return;
    }
    call_between([this](Ref chunk) {
      if (chunk.buffer == Buffer::Output) return output(groups_.rank_at(chunk.chunk, groups_.place()));
      return chunk;
    });
    for (const int group : order_of(call_, Buffer::Output, groups_.count(), 1)) {
      schedule_.add(kLast, {.src = output(groups_.rank_at(group, groups_.place())), .send = groups_.mates()});
      for (const int mate : groups_.mates()) {
        const int from = groups_.rank_at(group, groups_.place_of(mate));
        schedule_.add(kLast, {.recv = {mate}, .dst = output(from)});
      }
    }
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
  const Between between_;
  const Groups groups_;
  const int rank_;
  const Schedule call_;
  const int parts_;   // of a share
  const int pieces_;  // of a share
  const int count_;   // parts of a piece
  StagedSchedule schedule_;
};

Schedule build_over(const Algorithm& across, const Shape& shape, int rank) {
  return Builder(across, shape, rank).build(max_count_over(across, shape));
}

Schedule Between::build(int group) const {
  return is_last() ? across_.build(call_, group) : build_over(across_, call_, group);
}

}  // namespace

Algorithm over_levels(const char* name, const char* summary, const Algorithm& across) {
  return {.name = name,
          .kind = across.kind,
          .summary = summary,
          .supports = [across](const Shape& shape) { return can(across, shape); },
          .cost =
              [across](const Shape& shape) {
                return of_share(Between(across, shape).cost(), share_between(shape));
              },
          .cost_is_estimate = across.cost_is_estimate || across.kind == CollectiveKind::Broadcast,
          .inner_cost =
              [across](const Shape& shape, int level) {
                if (level == 0) return cost_within(across, shape);
                return of_share(Between(across, shape).inner_cost(level - 1), share_between(shape));
              },
          .build = [across](const Shape& shape, int rank) { return build_over(across, shape, rank); },
          .max_count = [across](const Shape& shape) { return max_count_over(across, shape); },
          .parts = [across](const Shape& shape) { return parts_over(across, shape); },
          .for_groups = true,
          .connects_all = across.connects_all};
}

}  // namespace rondo
