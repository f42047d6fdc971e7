// SPDX-License-Identifier: Apache-2.0
#include "symbolic_run.h"

#include <algorithm>
#include <map>

#include "base/error_kinds.h"
#include "chunk_rules.h"
#include "structure.h"

namespace rondo {
namespace {

/// The tiles in which chunks of that length have bytes.
int tiles_with_bytes(int length, const VerifyOptions& options) {
  if (options.short_chunks == 0) return options.tiles;
  uint32_t mixed = (static_cast<uint32_t>(length) + 1) * 0x9e3779b1u ^ options.short_chunks * 0x85ebca6bu;
  mixed = (mixed ^ mixed >> 15) * 0xc2b2ae35u;
  return 1 + static_cast<int>((mixed ^ mixed >> 16) % static_cast<uint32_t>(options.tiles));
}

/// The chunk that determines a Step's length, as in the executors.
Ref sizing(const Step& step, int i) {
  return step.has(kCopy) ? Ref{step.dst(), step.dst_chunk + i} : Ref{step.src(), step.src_chunk + i};
}

constexpr ExpressionId kNoBytes = -1;

// Of VerifyOptions::limited. Plans near these limits take a proof of ten runs less than 1 s and 60 MiB in
// all.
constexpr int64_t kMaxEntries = 2'200'000;
constexpr int64_t kMaxCompared = 60'000'000;

}  // namespace

SymbolicRun::SymbolicRun(const Shape& shape, const std::vector<Schedule>& ranks, const VerifyOptions& options)
    : shape_(shape),
      ranks_(ranks),
      options_(options),
      expressions_(shape.nranks, shape.commutative),
      order_(ranks) {
  if (shape.kind == CollectiveKind::Barrier) options_.short_chunks = 0;  // its messages have no bytes anyway
  const size_t n = ranks.size();
  const auto tiles = static_cast<size_t>(options.tiles);
  for (size_t rank = 0; rank < n; ++rank) {
    memory_.emplace_back(shape, ranks[rank], options.tiles, options.in_place, expressions_);
    for (size_t lane = 0; lane < ranks[rank].lanes.size(); ++lane) {
      lanes_.push_back({rank, lane, order_.index(rank, lane)});
      lane_of_port_[rank << 16 | ranks[rank].lanes[lane].port] = lanes_.size() - 1;
      if (shape.kind != CollectiveKind::Barrier) continue;
      std::vector<bool> self(n);
      self[rank] = true;
      heard_.insert(heard_.end(), tiles, self);
    }
  }
  can_go_on_.assign(lanes_.size(), true);
  find_waits();
}

void SymbolicRun::find_waits() {
  waiters_.resize(lanes_.size());
  for (const SymbolicLane& at : lanes_)
    for (const Step& step : lane(at).steps) {
      if (step.wait_lane == Step::kNone) continue;
      const size_t other = order_.index(at.rank, step.wait_lane);
      awaited_.insert(other << 16 | step.wait_step);
      waiters_[other].push_back(at.index);
    }
  for (std::vector<size_t>& waiters : waiters_)  // in which those of a lane come one after the other
    waiters.erase(std::unique(waiters.begin(), waiters.end()), waiters.end());
}

std::vector<SymbolicRun::SymbolicMessage>& SymbolicRun::fifo(size_t from, size_t to, uint16_t port) {
  return fifos_[(from * ranks_.size() + to) << 16 | port];
}

const std::vector<int>& SymbolicRun::peers(const SymbolicLane& at, uint16_t set) const {
  static const std::vector<int> none;
  return set == Step::kNone ? none : schedule(at).peer_sets[set];
}

Status SymbolicRun::run() {
  for (bool moved = true; moved;) {
    moved = false;
    for (SymbolicLane& at : lanes_) {
      if (!can_go_on_[at.index]) continue;
      can_go_on_[at.index] = false;
      while (!done(at) && obstacle(at).what == Obstacle::What::Nothing) {
        if (Status status = execute(at); !status.ok())
          return status.within(fmt::format("{}, tile {}", place_of(schedule(at), at.lane, at.step), at.tile));
        wake_others(at);
        go_on(at);
        moved = true;
      }
      if (options_.limited) RONDO_TRY(check_limits());
    }
  }
  const bool all_done =
      std::all_of(lanes_.begin(), lanes_.end(), [&](const SymbolicLane& at) { return done(at); });
  return all_done ? Status() : deadlock();
}

Status SymbolicRun::check_limits() const {
  if (order_.kept() + kept_ <= kMaxEntries && order_.compared() <= kMaxCompared) return {};
  return error(
      ErrorKind::TooLargeToVerify,
      "it is too large to be verified: the order of its {} lanes takes {} entries and {} comparisons, "
      "of at most {} and {}",
      lanes_.size(), order_.kept() + kept_, order_.compared(), kMaxEntries, kMaxCompared);
}

bool SymbolicRun::has_bytes(const SymbolicLane& at, Ref ref) const {
  return at.tile < tiles_with_bytes(length_class(shape_, schedule(at), ref.buffer, ref.chunk), options_);
}

bool SymbolicRun::left_out(const SymbolicLane& at) const {
  if (at.tile == 0 || options_.short_chunks == 0) return false;
  for (int i = 0; i < step(at).count; ++i)
    if (has_bytes(at, sizing(step(at), i))) return false;
  return true;
}

SymbolicRun::Obstacle SymbolicRun::obstacle(const SymbolicLane& at) {
  const Step& now = step(at);
  if (now.wait_lane != Step::kNone) {
    const SymbolicLane& other = lanes_[order_.index(at.rank, now.wait_lane)];
    if (now.waits(static_cast<size_t>(at.tile), static_cast<size_t>(other.tile), other.step))
      return {Obstacle::What::Lane, now.wait_lane};
  }
  if (left_out(at)) return {};
  for (const int peer : peers(at, now.recv_set))
    if (schedule(at).is_peer(peer) && from(peer, at).empty()) return {Obstacle::What::Data, index(peer)};
  for (const int peer : peers(at, now.send_set))
    if (to(peer, at).size() >= static_cast<size_t>(options_.slots))
      return {Obstacle::What::Room, index(peer)};
  return {};
}

Status SymbolicRun::execute(SymbolicLane& at) {
  const bool runs = !left_out(at);
  learn_from_lane(at);
  if (runs) learn_from_messages(at);
  SymbolicMemory::Access access{&order_, at.index, 0};
  if (order_.tracks()) {
    access.number = order_.tick(at.index);
    if (awaited_.contains(at.index << 16 | at.step)) {
      const Clock& now = order_.clock(at.index);
      kept_ += std::ssize(now);
      clocks_[clock_key(at.index, static_cast<size_t>(at.tile), at.step)] = now;
    }
  }
  if (!runs) return {};
  RONDO_TRY_ASSIGN(const Values value, value_of(at, access));
  if (step(at).has(kCopy)) RONDO_TRY(store(at, value, access));
  hand_over(at, value);
  return {};
}

void SymbolicRun::hear(const SymbolicLane& at, const std::vector<bool>& ranks) {
  if (heard_.empty()) return;
  std::vector<bool>& own =
      heard_[at.index * static_cast<size_t>(options_.tiles) + static_cast<size_t>(at.tile)];
  for (size_t rank = 0; rank < own.size(); ++rank) own[rank] = own[rank] || ranks[rank];
}

/// Inherits the clock of the lane that it waited for.
void SymbolicRun::learn_from_lane(const SymbolicLane& at) {
  const Step& now = step(at);
  if (now.wait_lane == Step::kNone || (now.has(kBefore) && at.tile == 0)) return;
  const auto tile = static_cast<size_t>(at.tile) - (now.has(kBefore) ? 1 : 0);
  const size_t other = order_.index(at.rank, now.wait_lane);
  if (order_.tracks()) order_.join(at.index, clocks_.at(clock_key(other, tile, now.wait_step)));
  if (!heard_.empty()) hear(at, heard_[other * static_cast<size_t>(options_.tiles) + tile]);
}

void SymbolicRun::learn_from_messages(const SymbolicLane& at) {
  for (const int peer : peers(at, step(at).recv_set)) {
    if (!schedule(at).is_peer(peer)) continue;
    const SymbolicMessage& message = from(peer, at).front();
    if (order_.tracks()) order_.join(at.index, message.clock);
    hear(at, message.heard);
  }
}

Result<SymbolicRun::Values> SymbolicRun::value_of(const SymbolicLane& at,
                                                  const SymbolicMemory::Access& access) {
  const Step& now = step(at);
  Values own;
  if (now.has_source()) {
    RONDO_TRY_ASSIGN(own, read(at, {now.src(), now.src_chunk}, access));
  }
  Values value;
  RONDO_TRY_ASSIGN(value, fold(at, own, access));
  for (ExpressionId& one : value) {
    if (one == kNoBytes) continue;
    if (now.has(kFinish)) {
      RONDO_TRY_ASSIGN(one, expressions_.finish(one));
    }
    one = expressions_.round(one);
  }
  return value;
}

/// The chunks of a place that the rank reads; kNoBytes where there are none.
Result<SymbolicRun::Values> SymbolicRun::read(const SymbolicLane& at, Ref first,
                                              const SymbolicMemory::Access& access) {
  Values values;
  for (int i = 0; i < step(at).count; ++i) {
    const Ref place{first.buffer, first.chunk + i};
    values.push_back(kNoBytes);
    if (!has_bytes(at, place)) continue;
    RONDO_TRY_ASSIGN(values.back(), memory_[at.rank].read(at.tile, place, access));
  }
  return values;
}

/// What one member of the receive set contributes.
Result<SymbolicRun::Values> SymbolicRun::operand(const SymbolicLane& at, int member, const Values& own,
                                                 const SymbolicMemory::Access& access) {
  if (is_scratch_operand(member)) return read(at, scratch(chunk_of_operand(member)), access);
  if (!schedule(at).is_peer(member)) return own;
  const SymbolicMessage& message = from(member, at).front();
  if (message.values.size() != step(at).count)
    return error(Code::InternalError, "rank {} sent {} chunks where {} are expected", member,
                 message.values.size(), step(at).count);
  if (message.tile != at.tile)
    return error(Code::InternalError, "takes rank {}'s message of tile {}", member, message.tile);
  return message.values;
}

Result<SymbolicRun::Values> SymbolicRun::fold(const SymbolicLane& at, const Values& own,
                                              const SymbolicMemory::Access& access) {
  if (!step(at).has(kRecv)) return own;
  Values value;
  for (const int member : peers(at, step(at).recv_set)) {
    RONDO_TRY_ASSIGN(const Values next, operand(at, member, own, access));
    if (value.empty()) {
      value = next;
      continue;
    }
    for (size_t i = 0; i < value.size(); ++i) {
      if (value[i] == kNoBytes && next[i] == kNoBytes) continue;
      if (value[i] == kNoBytes || next[i] == kNoBytes)
        return error(Code::InternalError, "adds chunks of different lengths");
      RONDO_TRY_ASSIGN(value[i], expressions_.fold(value[i], next[i]));
    }
  }
  return value;
}

/// The first chunks of what a Step reads from the rank's own memory.
std::vector<Ref> SymbolicRun::own_operands(const SymbolicLane& at) const {
  std::vector<Ref> found;
  if (step(at).has_source()) found.push_back({step(at).src(), step(at).src_chunk});
  for (const int member : peers(at, step(at).recv_set))
    if (is_scratch_operand(member)) found.push_back(scratch(chunk_of_operand(member)));
  return found;
}

Status SymbolicRun::store(const SymbolicLane& at, const Values& value, const SymbolicMemory::Access& access) {
  const Step& now = step(at);
  SymbolicMemory& memory = memory_[at.rank];
  for (int i = 0; i < now.count; ++i) {
    const Ref to{now.dst(), now.dst_chunk + i};
    for (const Ref from : own_operands(at))
      for (int j = 0; j < now.count; ++j)
        if (i != j && memory.same(at.tile, {from.buffer, from.chunk + j}, to))
          return error(Code::InternalError, "source and destination overlap, but are not the same");
    const ExpressionId one = value[static_cast<size_t>(i)];
    if (one == kNoBytes && !has_bytes(at, to)) continue;
    if (one == kNoBytes)
      return error(Code::InternalError, "writes nothing although there are bytes to write");
    const Schedule& origin = ranks_[static_cast<size_t>(expressions_.first_rank(one))];
    const int length = length_class(shape_, origin, Buffer::Input, expressions_.chunk(one));
    if (length != length_class(shape_, schedule(at), to.buffer, to.chunk))
      return error(Code::InternalError, "{} can be of another length than the place it is written to",
                   expressions_.describe(one));
    RONDO_TRY(memory.write(at.tile, to, one, access));
  }
  return {};
}

void SymbolicRun::hand_over(const SymbolicLane& at, const Values& value) {
  const Step& now = step(at);
  const auto tiles = static_cast<size_t>(options_.tiles);
  for (const int peer : peers(at, now.recv_set))
    if (schedule(at).is_peer(peer)) from(peer, at).erase(from(peer, at).begin());
  for (const int peer : peers(at, now.send_set)) {
    SymbolicMessage message{at.tile, value, {}, {}};
    if (order_.tracks()) message.clock = order_.clock(at.index);
    if (!heard_.empty()) message.heard = heard_[at.index * tiles + static_cast<size_t>(at.tile)];
    to(peer, at).push_back(std::move(message));
  }
}

void SymbolicRun::go_on(SymbolicLane& at) {
  if (++at.step < lane(at).steps.size()) return;
  at.step = 0;
  ++at.tile;
}

/// Looks again at the lanes that may have waited for the Step.
void SymbolicRun::wake_others(const SymbolicLane& at) {
  for (const size_t waiter : waiters_[at.index]) can_go_on_[waiter] = true;
  for (const uint16_t set : {step(at).recv_set, step(at).send_set})
    for (const int peer : peers(at, set)) {
      if (!schedule(at).is_peer(peer)) continue;
      if (const auto found = lane_of_port_.find(index(peer) << 16 | lane(at).port);
          found != lane_of_port_.end())
        can_go_on_[found->second] = true;
    }
}

std::string SymbolicRun::explain(const SymbolicLane& at, const Obstacle& why) const {
  std::string place = fmt::format("{}, tile {}", place_of(schedule(at), at.lane, at.step), at.tile);
  switch (why.what) {
    case Obstacle::What::Data: return fmt::format("{} waits for data from rank {}", place, why.other);
    case Obstacle::What::Room: return fmt::format("{} waits for room to rank {}", place, why.other);
    case Obstacle::What::Lane: return fmt::format("{} waits for its lane {}", place, why.other);
    case Obstacle::What::Nothing: break;
  }
  return place;
}

/// Follows the wait-for chain from the first stuck lane until it closes a cycle or ends.
Status SymbolicRun::deadlock() {
  const auto stuck = [&](const SymbolicLane& at) { return !done(at); };
  const SymbolicLane* at = &*std::find_if(lanes_.begin(), lanes_.end(), stuck);
  std::string story;
  std::vector<size_t> seen;
  while (std::find(seen.begin(), seen.end(), at->index) == seen.end() && seen.size() < 8) {
    seen.push_back(at->index);
    const Obstacle why = obstacle(*at);
    story += fmt::format("{}{}", story.empty() ? "" : "; ", explain(*at, why));
    const bool own_lane = why.what == Obstacle::What::Lane;
    const size_t rank = own_lane ? at->rank : why.other;
    const auto next = std::find_if(lanes_.begin(), lanes_.end(), [&](const SymbolicLane& other) {
      return other.rank == rank && (own_lane ? other.lane == why.other : lane(other).port == lane(*at).port);
    });
    if (next == lanes_.end() || done(*next)) {
      story += fmt::format("; rank {} has ended", rank);
      break;
    }
    at = &*next;
  }
  return error(Code::InternalError, "deadlock at {} slots: {}", options_.slots, story);
}

Status SymbolicRun::check_results() const {
  RONDO_TRY(check_left_over());
  RONDO_TRY(check_heard());
  for (int rank = 0; rank < shape_.nranks; ++rank)
    for (int tile = 0; tile < options_.tiles; ++tile)
      for (int chunk = 0; chunk < ranks_[static_cast<size_t>(rank)].chunks.output; ++chunk)
        RONDO_TRY(check_output(rank, tile, chunk));
  return {};
}

Status SymbolicRun::check_output(int rank, int tile, int chunk) const {
  const Schedule& own = ranks_[static_cast<size_t>(rank)];
  const auto right = wanted(shape_, rank, own.chunks.parts, chunk);
  if (!right || tile >= tiles_with_bytes(length_class(shape_, own, Buffer::Output, chunk), options_))
    return {};
  const ExpressionId found = memory_[static_cast<size_t>(rank)].output(tile, chunk);
  const auto wrong = [&](const std::string& what) {
    return error(Code::InternalError, "output[{}] of rank {}, tile {} {}", chunk, rank, tile, what);
  };
  if (found < 0) return wrong("is never written");
  if (!expressions_.holds_exactly(found, right->first, right->end) ||
      expressions_.chunk(found) != right->chunk || expressions_.tile(found) != tile)
    return wrong(fmt::format("is {}; it should hold chunk {} of the ranks {} to {}",
                             expressions_.describe(found), right->chunk, right->first, right->end - 1));
  if (expressions_.finished(found) != traits(shape_.kind).finishes()) return wrong("was not finished");
  if (!expressions_.has(options_.association, found))
    return wrong(fmt::format("is {}; it should be combined in {}", expressions_.formula(found),
                             association_name(options_.association)));
  return {};
}

Status SymbolicRun::check_left_over() const {
  std::map<size_t, size_t> left;  // by connection, in order
  for (const auto& [connection, messages] : fifos_)
    if (!messages.empty()) left[connection] = messages.size();
  if (left.empty()) return {};
  const auto [connection, messages] = *left.begin();
  const size_t pair = connection >> 16;
  return error(Code::InternalError, "{} messages from rank {} to rank {} on port {} are never received",
               messages, pair / ranks_.size(), pair % ranks_.size(), connection & 0xffff);
}

Status SymbolicRun::check_heard() const {
  if (shape_.kind != CollectiveKind::Barrier) return {};
  const auto tiles = static_cast<size_t>(options_.tiles);
  for (size_t rank = 0; rank < ranks_.size(); ++rank)
    for (size_t tile = 0; tile < tiles; ++tile)
      for (size_t other = 0; other < ranks_.size(); ++other) {
        bool heard = other == rank;
        for (size_t lane = 0; lane < ranks_[rank].lanes.size(); ++lane)
          heard = heard || heard_[order_.index(rank, lane) * tiles + tile][other];
        if (!heard)
          return error(Code::InternalError, "rank {} leaves the barrier without having heard of rank {}",
                       rank, other);
      }
  return {};
}

std::string SymbolicRun::association(int rank, int chunk) const {
  const ExpressionId found = memory_[static_cast<size_t>(rank)].output(0, chunk);
  return found < 0 ? std::string() : expressions_.association(found);
}

std::vector<Formula> SymbolicRun::formulas(const FormulaStyle& style) const {
  std::vector<Formula> made;
  const std::vector<int> roundings = expressions_.roundings(style);
  for (int rank = 0; rank < shape_.nranks; ++rank) {
    const Chunks& chunks = ranks_[static_cast<size_t>(rank)].chunks;
    for (int chunk = 0; chunk < chunks.output; ++chunk)
      if (const auto right = wanted(shape_, rank, chunks.parts, chunk)) {
        const ExpressionId result = memory_[static_cast<size_t>(rank)].output(0, chunk);
        made.push_back({rank, right->chunk, expressions_.formula(result, style),
                        roundings[static_cast<size_t>(result)]});
      }
  }
  return made;
}

}  // namespace rondo
