// SPDX-License-Identifier: Apache-2.0
#include "over_levels.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>

#include "between_groups.h"
#include "groups.h"
#include "parts.h"

namespace rondo {
namespace {

/// The weights of the ranks at one place of all smallest groups that make up one of the largest.
std::vector<int> weights_at(const Shape& shape, int place) {
  std::vector<int> weights;
  const auto size = static_cast<size_t>(Groups::smallest(shape).size());
  for (auto at = static_cast<size_t>(place); at < shape.weights.size(); at += size)
    weights.push_back(shape.weights[at]);
  return weights;
}

int sum_of(const std::vector<int>& weights) { return std::accumulate(weights.begin(), weights.end(), 0); }

/// Whether there is a weight for each place of the largest groups, or none.
bool has_weights_that_fit(const Shape& shape) {
  return shape.weights.empty() || std::ssize(shape.weights) == Groups(shape).size();
}

/// The call between the groups of the first level, as the ranks at one place of them make it.
Shape call_between(const Shape& shape) {
  const Groups groups = Groups::smallest(shape);
  return {.kind = traits(shape.kind).is_scan() ? CollectiveKind::Exscan : shape.kind,
          .nranks = groups.count(),
          .root = groups.group_of(shape.root),
          .varying = shape.varying,
          .commutative = shape.commutative,
          .levels = shape.levels.outside()};
}

/// Of a scan: a prefix for each rank of a group, and the fold of the groups before.
int scratch_of_scan(const Shape& shape) {
  if (!shape.hosts.empty()) return Groups::smallest(shape).largest() + 1;
  int vectors = 0, inner = 1;
  for (int level = 0; level < shape.levels.count(); ++level) {
    vectors += shape.levels.size(level) / inner + 1;
    inner = shape.levels.size(level);
  }
  return vectors;
}

/// How many times the chunks of all blocks, or of the vector, Scratch has at most: each level has its own.
int scratch_of_levels(const Shape& shape) {
  switch (shape.kind) {
    case CollectiveKind::Scan:
    case CollectiveKind::Exscan: return scratch_of_scan(shape);
    case CollectiveKind::AllReduce:
    case CollectiveKind::Broadcast: return 0;
    case CollectiveKind::AllToAll: return 2 * shape.levels.count();
    default: return (shape.weights.empty() ? 1 : 2) * shape.levels.count() + 1;
  }
}

/// More parts of a block, which a slot has to hold, make messages between groups too short.
constexpr int kMaxParts = 16;

/// Whether each place carries what it weighs. Blocks can be divided if the calls between groups move them one
/// by one, and if few parts do, which have 16-bit numbers.
bool has_shares_of(const Algorithm& across, const Shape& shape) {
  if (shape.weights.empty() || !traits(shape.kind).has_blocks()) return !shape.weights.empty();
  const Between between(across, shape);
  if (shape.kind == CollectiveKind::AllToAll || between.max_count() > between.parts()) return false;
  const int parts = Shares(across, shape).parts();
  return parts <= kMaxParts &&
         fits(shape, int64_t{8} * shape.nranks, int64_t{parts} * scratch_of_levels(shape));
}
Shape carried(const Algorithm& across, Shape shape) {
  if (!has_shares_of(across, shape)) shape.weights = {};
  return shape;
}

bool can(const Algorithm& across, const Shape& asked) {
  if (!has_groups(asked) || !has_weights_that_fit(asked)) return false;
  const Shape shape = carried(across, asked);
  const Between between(across, shape);
  if (!between.supports()) return false;
  const Groups groups = Groups::smallest(shape);
  const int64_t scratch = std::max(1, scratch_of_levels(shape));
  if (!traits(shape.kind).has_blocks())
    return fits(shape, int64_t{4} * groups.largest() * between.pieces(),
                Shares(across, shape).all() * scratch);
  if (shape.varying && (between.collects() || between.max_count() > 1)) return false;
  return fits(shape, int64_t{4} * shape.nranks, scratch);
}

/// The most parts of a vector that a Step moves at one of the places.
int max_parts_moved(const Algorithm& across, const Shape& shape) {
  const int places = shape.weights.empty() ? 1 : Groups::smallest(shape).size();
  int most = 1;
  for (int place = 0; place < places; ++place) {
    const Between between(across, shape, place);
    most =
        std::max(most, std::max(between.max_count(), between.parts() / between.pieces()) * between.scale());
  }
  return most;
}

int max_count_over(const Algorithm& across, const Shape& shape) {
  const Between between(across, shape);
  switch (shape.kind) {
    case CollectiveKind::AllToAll: return shape.levels.innermost() * between.max_count();
    case CollectiveKind::AllGather:
      return between.collects() ? between.call().nranks : Shares(across, shape).parts();
    case CollectiveKind::ReduceScatter: return std::max(between.max_count(), Shares(across, shape).parts());
    default: return max_parts_moved(across, shape);
  }
}

CpuWork times(CpuWork work, double factor) {
  return {work.volume * factor, work.messages * factor, work.folds * factor, work.warm * factor};
}

/// The average work that a Cost without one stands for: that of the busiest rank in a further tile.
CpuWork mean_of(const Cost& cost) {
  if (cost.mean.volume != 0) return cost.mean;
  const bool overlaps = cost.steady > 0;
  const double messages = overlaps && cost.messages == 0 ? cost.steady : std::max(cost.messages, cost.rounds);
  return {overlaps ? cost.steady : cost.volume, messages, cost.folds, cost.warm};
}

/// The place whose ranks carry most between groups: its parts of a vector, and all. Of divided blocks, also
/// the most calls that a place makes there, and all.
struct BusiestPlace {
  int place = 0;
  double own = 1, all = 1;
  double calls = 1, all_calls = all;
  bool cross_blocks = false;

  double share() const { return own / all; }
};
BusiestPlace busiest_place(const Algorithm& across, const Shape& shape) {
  if (shape.weights.empty()) return {.all = static_cast<double>(Groups::smallest(shape).size())};
  const Shares shares(across, shape);
  const int place = shares.largest();
  BusiestPlace busiest{place, static_cast<double>(shares.length(place)), static_cast<double>(shares.all())};
  if (!traits(shape.kind).has_blocks()) return busiest;
  busiest.cross_blocks = shares.cross_blocks();
  busiest.all_calls = 0;
  for (int any = 0; any < Groups::smallest(shape).size(); ++any) {
    const auto calls = static_cast<double>(shares.runs(any).size());
    busiest.calls = std::max(busiest.calls, calls);
    busiest.all_calls += calls;
  }
  return busiest;
}

/// What the calls between groups cost, if `cost` is that of one for all data: of the share that the busiest
/// place has, and on average that places have.
Cost of_share(const BusiestPlace& busiest, const Shape& shape, Cost cost) {
  const Groups groups = Groups::smallest(shape);
  for (double* messages : {&cost.messages, &cost.received}) *messages *= busiest.calls;
  const double with_places = static_cast<double>(groups.count()) * groups.size() / shape.nranks;
  if (with_places != 1 || !shape.weights.empty()) cost.mean = times(mean_of(cost), with_places);
  const bool is_shared = shape.kind != CollectiveKind::AllToAll;
  const double most = is_shared ? busiest.share() : 1, mean = is_shared ? 1.0 / groups.size() : 1;
  for (double* volume : {&cost.volume, &cost.steady, &cost.folds, &cost.warm}) *volume *= most;
  for (double* volume : {&cost.mean.volume, &cost.mean.folds, &cost.mean.warm}) *volume *= mean;
  return cost;
}

Cost cost_between(const Algorithm& across, const Shape& shape) {
  const BusiestPlace busiest = busiest_place(across, shape);
  Cost cost = Between(across, shape, busiest.place).cost();
  cost.rounds *= busiest.calls;
  return of_share(busiest, shape, cost);
}

/// The exchanges within the smallest groups: each rank sends a share to each place, or each place to each
/// rank.
struct Exchange {
  Exchange(const Groups& groups, const Shape& shape)
      : places(groups.size()),
        to_places(places - 1),
        to_ranks(groups.largest() - 1),
        mean(1 - static_cast<double>(groups.count()) / shape.nranks),
        is_even(groups.largest() == groups.size() && shape.weights.empty()) {}

  double places;
  double to_places, to_ranks;  // messages of the busiest rank that has a place, in either direction
  double mean;                 // vectors of a rank, in either direction
  bool is_even;

  /// That work of a rank, if not all have as much.
  CpuWork mean_of(double exchanges, double pieces, double folds) const {
    if (is_even) return {};
    return {exchanges * mean, exchanges * mean * places * pieces, folds == 0 ? 0 : mean};
  }
};

/// Within the smallest groups.
Cost cost_within(const Algorithm& across, const Shape& shape) {
  const BusiestPlace busiest = busiest_place(across, shape);
  const Between between(across, shape, busiest.place);
  const Exchange each(Groups::smallest(shape), shape);
  const double size = each.places, mates = each.to_places, groups = between.call().nranks;
  const double vector = each.to_ranks * busiest.own / busiest.all, pieces = between.pieces();
  const double others = (busiest.all - busiest.own) / busiest.all;  // all shares but its own
  const double folds = between.cost().folds == 0 ? 0 : vector;      // as far as the kind's algorithms say so
  // Of as many messages one after the other: those that do not wait for messages between groups anyway.
  const auto rounds_beyond = [&](double messages) {
    return between.collects() ? 1 : std::max(1.0, messages - between.rounds(busiest.calls));
  };
  switch (shape.kind) {
    case CollectiveKind::AllReduce:
    case CollectiveKind::Scan:
    case CollectiveKind::Exscan:
      return {.rounds = 2,
              .volume = 2 * vector,
              .steady = vector + others,
              .messages = (mates + each.to_ranks) * pieces,
              .folds = folds,
              .mean = each.mean_of(2, pieces, folds)};
    case CollectiveKind::AllGather: {
      // Divided blocks of the own group come before those of the others.
      const double exchanges = busiest.cross_blocks ? 1 : 0, forwarded = groups - exchanges;
      const double moved = exchanges * mates / shape.nranks + vector * forwarded / groups;
      const double messages = mates * (exchanges + (between.collects() ? 1 : busiest.calls * forwarded));
      return {.rounds = exchanges + rounds_beyond(busiest.calls * forwarded + exchanges),
              .volume = moved,
              .steady = moved,
              .messages = messages,
              .mean = each.mean_of(1, messages / (each.mean * size), 0)};
    }
    case CollectiveKind::ReduceScatter: {
      // What has been folded of others' blocks is theirs.
      const double handed = busiest.cross_blocks ? busiest.share() / groups : 0;
      const double messages = (busiest.all_calls - 1) * groups + (busiest.cross_blocks ? busiest.calls : 0);
      return {.rounds = (busiest.cross_blocks ? 1 : 0) + rounds_beyond(busiest.calls * groups),
              .volume = vector + handed,
              .steady = vector + handed,
              .messages = messages,
              .folds = folds,
              .mean = each.mean_of(1, messages / (each.mean * size), folds)};
    }
    case CollectiveKind::Broadcast:
      // In a single tile, shares that come from the root one after the other meet at the ports.
      return {.rounds = 2,
              .volume = vector + others + std::max(0.0, mates - 1) / size,
              .steady = vector + others,
              .messages = (mates + each.to_ranks) * pieces,
              .mean = {.volume = each.mean, .messages = each.mean * size * pieces}};
    case CollectiveKind::Reduce:
      return {.rounds = 2,
              .volume = vector + others,
              .steady = vector + others,
              .messages = (mates + 1) * pieces,
              .folds = folds,
              .mean = {.volume = each.mean + others / shape.nranks,
                       .messages = (each.mean * size + mates / shape.nranks) * pieces,
                       .folds = folds == 0 ? 0 : each.mean}};
    default:
      return {.rounds = std::max(1.0, groups - between.rounds(1)),
              .volume = vector,
              .steady = vector,
              .messages = mates * groups};
  }
}

Cost inner_cost_over(const Algorithm& across, const Shape& shape, int level) {
  if (level == 0) return cost_within(across, shape);
  const BusiestPlace busiest = busiest_place(across, shape);
  return of_share(busiest, shape, Between(across, shape, busiest.place).inner_cost(level - 1));
}

int parts_over(const Algorithm& across, const Shape& shape) { return Shares(across, shape).parts(); }

Schedule build_over(const Algorithm& across, const Shape& shape, int rank) {
  return schedule_over(across, shape, rank, max_count_over(across, shape));
}

/// How many parts of a vector places handle; one place's number, if all have as many.
std::vector<int> lengths_in_vector(const Algorithm& across, const Shape& shape, int places) {
  std::vector<int> lengths;
  for (int place = 0; place < (shape.weights.empty() ? 1 : places); ++place) {
    const Between between(across, shape, place);
    lengths.push_back(between.parts() * between.scale());
  }
  return lengths;
}

/// How many parts of the blocks of a group. Both shares and blocks are a whole number of them, and so is what
/// a part of any place's call between groups stands for.
std::vector<int> lengths_in_blocks(const Algorithm& across, const Shape& shape, int places) {
  if (shape.weights.empty()) return {1};
  std::vector<int> lengths;
  int of_call = 1;
  for (int place = 0; place < places; ++place) {
    lengths.push_back(sum_of(weights_at(shape, place)));
    of_call = std::lcm(of_call, Between(across, shape, place).parts());
  }
  const int common = std::accumulate(lengths.begin(), lengths.end(), 0, std::gcd<int, int>);
  const int all = sum_of(lengths) / common;
  for (int& length : lengths) length = length / common * of_call * (places / std::gcd(places, all));
  return lengths;
}

}  // namespace

Between::Between(const Algorithm& across, const Shape& shape, int place)
    : across_(across), call_(call_between(shape)), weights_(weights_at(shape, place)) {
  if (!call_.levels.empty()) over_.emplace(over_levels(across.name, across.summary, across));
  if (weights_.empty()) return;
  depends_on_place_ = weights_.size() > 1;
  scale_ = std::accumulate(weights_.begin(), weights_.end(), 0, std::gcd<int, int>);
  for (int& weight : weights_) weight /= scale_;
  if (std::ranges::any_of(weights_, [](int weight) { return weight != 1; })) call_.weights = weights_;
}

double Between::rounds(double calls) const {
  double all = calls * cost().rounds;
  for (int level = 0; level < call_.levels.count(); ++level) all += inner_cost(level).rounds;
  return all;
}

bool Between::collects() const {
  return call_.kind == CollectiveKind::AllToAll ||
         (call_.kind == CollectiveKind::AllGather && max_count() > parts());
}

/// The ranks of a group send the pieces of all places in one order. If places have different calls, there is
/// none that suits all of them.
int Between::pieces() const {
  if (depends_on_place_) return 1;
  return max_count() == 1 && call_.nranks > 2 && cost().rounds >= parts() ? parts() : 1;
}

Shares::Shares(const Algorithm& across, const Shape& shape)
    : has_blocks_(traits(shape.kind).has_blocks()), places_(Groups::smallest(shape).size()) {
  const std::vector<int> lengths =
      has_blocks_ ? lengths_in_blocks(across, shape, places_) : lengths_in_vector(across, shape, places_);
  each_ = lengths.front();
  if (shape.weights.empty()) return;
  firsts_.push_back(0);
  for (const int length : lengths) firsts_.push_back(firsts_.back() + length);
}

int Shares::largest() const {
  int most = 0;
  for (int place = 0; place < places_; ++place)
    if (length(place) > length(most)) most = place;
  return most;
}

std::vector<PartRun> Shares::runs(int place) const {
  std::vector<PartRun> found;
  for (int at = first(place), next = at; at < first(place + 1); at = next) {
    next = std::min(first(place + 1), (at / parts() + 1) * parts());
    found.push_back({at / parts(), at % parts(), next - at});
  }
  return found;
}

bool Shares::cross_blocks() const { return length(largest()) != parts(); }

Algorithm over_levels(const char* name, const char* summary, const Algorithm& across) {
  return over_levels(across.kind, name, summary, across);
}

Algorithm over_levels(CollectiveKind kind, const char* name, const char* summary, const Algorithm& across) {
  // Weights that are not carried are as good as none.
  const auto carrying = [&across](auto of) {
    return [across, of](const Shape& shape, auto... more) {
      return of(across, carried(across, shape), more...);
    };
  };
  return {.name = name,
          .kind = kind,
          .summary = summary,
          .supports = [across](const Shape& shape) { return can(across, shape); },
          .cost = carrying(cost_between),
          .cost_is_estimate =
              across.cost_is_estimate || kind == CollectiveKind::Broadcast || traits(kind).is_scan(),
          .inner_cost = carrying(inner_cost_over),
          .build = carrying(build_over),
          .max_count = carrying(max_count_over),
          .parts = carrying(parts_over),
          .for_groups = true,
          .has_shares = [across](const Shape& shape) { return has_shares_of(across, shape); },
          .connects_all = across.connects_all};
}

}  // namespace rondo
