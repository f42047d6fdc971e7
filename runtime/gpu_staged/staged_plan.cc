// SPDX-License-Identifier: Apache-2.0
#include "staged_plan.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/cost_table.h"
#include "gpu_staged/staged_executor.h"

namespace rondo {
namespace {

/// A piece of this rank's buffers.
struct StagedPiece {
  std::byte* at = nullptr;
  size_t bytes = 0;
};
using Pieces = std::vector<std::optional<StagedPiece>>;  // by rank; nullopt: that pair exchanges nothing

/// One exchange: the pieces that this rank gives to peers, and what it does with those it takes from them.
struct Flow {
  explicit Flow(int nranks, bool shares) : shared(shares), give(static_cast<size_t>(nranks)), take(give) {}
  bool shared;            // all peers get the same piece
  bool operands = false;  // pieces are operands of a reduction
  Pieces give;
  Pieces take;                     // where copies go; only the lengths are used if pieces are combined
  std::optional<StagedPiece> out;  // the result if pieces are combined
  std::optional<StagedPiece> own;  // this rank's operand, or the source of the copy to `own_out`
  std::byte* own_out = nullptr;
};

size_t tiles_of(size_t bytes, size_t block_bytes) {
  return std::max<size_t>(1, (bytes + block_bytes - 1) / block_bytes);
}

/// Expresses a call as one exchange or two.
class Flows {
 public:
  Flows(const Call& call, int self, int nranks) : call_(call), self_(self), nranks_(nranks) {}

  std::vector<Flow> make() const {
    switch (call_.kind) {
      case CollectiveKind::AllReduce:
        if (in_two_steps(call_, nranks_)) return {reduce_parts(), gather_parts()};
        return {reduce_whole(0, nranks_, true)};
      case CollectiveKind::Reduce: return {reduce()};
      case CollectiveKind::Broadcast: return {broadcast()};
      case CollectiveKind::AllGather: return {all_gather()};
      case CollectiveKind::Gather: return {gather()};
      case CollectiveKind::ReduceScatter: return {reduce_scatter()};
      case CollectiveKind::Scatter: return {scatter()};
      case CollectiveKind::AllToAll: return {all_to_all()};
      case CollectiveKind::Scan: return {scan(false)};
      case CollectiveKind::Exscan: return {scan(true)};
      case CollectiveKind::Barrier:
      case CollectiveKind::PointToPoint: break;
    }
    return {meet()};
  }

 private:
  size_t bytes(size_t elements) const { return elements * call_.type.bytes; }
  std::byte* input(size_t offset = 0) const {
    return static_cast<std::byte*>(const_cast<void*>(call_.send)) + bytes(offset);  // read only
  }
  std::byte* output(size_t offset = 0) const { return static_cast<std::byte*>(call_.recv) + bytes(offset); }
  StagedPiece whole_input() const { return {input(), bytes(call_.count)}; }
  StagedPiece whole_output() const { return {output(), bytes(call_.count)}; }
  StagedPiece block(const Blocks& blocks, bool of_input, int rank) const {
    const auto r = static_cast<size_t>(rank);
    const size_t offset = call_.varying ? blocks.offsets[r] : r * call_.count;
    const size_t count = call_.varying ? blocks.counts[r] : call_.count;
    return {of_input ? input(offset) : output(offset), bytes(count)};
  }
  StagedPiece input_block(int rank) const { return block(call_.send_blocks, true, rank); }
  StagedPiece output_block(int rank) const { return block(call_.recv_blocks, false, rank); }
  bool at_root() const { return self_ == call_.root; }
  template <class Make>
  void for_others(Pieces& pieces, Make make) const {
    for (int rank = 0; rank < nranks_; ++rank)
      if (rank != self_) pieces[static_cast<size_t>(rank)] = make(rank);
  }

  Flow meet() const {
    Flow flow(nranks_, true);
    for_others(flow.give, [](int) { return StagedPiece(); });
    flow.take = flow.give;
    return flow;
  }
  /// Combines the inputs of ranks [begin, end), which the other ranks must give.
  Flow reduce_whole(int begin, int end, bool gives_all) const {
    Flow flow(nranks_, true);
    if (gives_all) for_others(flow.give, [&](int) { return whole_input(); });
    for (int rank = begin; rank < end; ++rank)
      if (rank != self_) flow.take[static_cast<size_t>(rank)] = StagedPiece{nullptr, bytes(call_.count)};
    flow.operands = true;
    if (begin <= self_ && self_ < end) flow.own = whole_input();
    flow.out = whole_output();
    return flow;
  }
  Flow reduce() const {
    if (at_root()) return reduce_whole(0, nranks_, false);
    Flow flow(nranks_, true);
    flow.operands = true;
    flow.give[static_cast<size_t>(call_.root)] = whole_input();
    return flow;
  }
  Flow scan(bool exclusive) const {
    Flow flow = reduce_whole(0, exclusive ? self_ : self_ + 1, false);
    if (exclusive && self_ == 0) flow.out.reset();
    for (int rank = self_ + 1; rank < nranks_; ++rank) flow.give[static_cast<size_t>(rank)] = whole_input();
    return flow;
  }
  void keep_own(Flow& flow, const StagedPiece& from, const StagedPiece& to) const {
    flow.own = from;
    flow.own_out = to.at;
  }
  Flow broadcast() const {
    Flow flow(nranks_, true);
    if (at_root()) {
      for_others(flow.give, [&](int) { return whole_input(); });
      keep_own(flow, whole_input(), whole_output());
    } else {
      flow.take[static_cast<size_t>(call_.root)] = whole_output();
    }
    return flow;
  }
  Flow all_gather() const {
    Flow flow(nranks_, true);
    for_others(flow.give, [&](int) { return whole_input(); });
    for_others(flow.take, [&](int rank) { return output_block(rank); });
    keep_own(flow, whole_input(), output_block(self_));
    return flow;
  }
  Flow gather() const {
    Flow flow(nranks_, true);
    if (at_root()) {
      for_others(flow.take, [&](int rank) { return output_block(rank); });
      keep_own(flow, whole_input(), output_block(self_));
    } else {
      flow.give[static_cast<size_t>(call_.root)] = whole_input();
    }
    return flow;
  }
  Flow reduce_scatter() const {
    Flow flow(nranks_, false);
    const StagedPiece own = input_block(self_);
    for_others(flow.give, [&](int rank) { return input_block(rank); });
    for_others(flow.take, [&](int) { return StagedPiece{nullptr, own.bytes}; });
    flow.operands = true;
    flow.own = own;
    flow.out = StagedPiece{output(), own.bytes};
    return flow;
  }
  Flow scatter() const {
    Flow flow(nranks_, false);
    if (at_root()) {
      for_others(flow.give, [&](int rank) { return input_block(rank); });
      keep_own(flow, input_block(self_), whole_output());
    } else {
      flow.take[static_cast<size_t>(call_.root)] = whole_output();
    }
    return flow;
  }
  Flow all_to_all() const {
    Flow flow(nranks_, false);
    for_others(flow.give, [&](int rank) { return input_block(rank); });
    for_others(flow.take, [&](int rank) { return output_block(rank); });
    keep_own(flow, input_block(self_), output_block(self_));
    return flow;
  }

  /// A rank's part of a vector that is divided among all ranks.
  StagedPiece part(std::byte* base, int rank) const {
    const auto n = static_cast<size_t>(nranks_);
    const auto r = static_cast<size_t>(rank);
    const size_t each = call_.count / n;
    const size_t longer = call_.count % n;  // number of parts with one extra element
    const size_t begin = r * each + std::min(r, longer);
    return {base + bytes(begin), bytes(each + (r < longer ? 1 : 0))};
  }
  Flow reduce_parts() const {
    Flow flow(nranks_, false);
    const StagedPiece own = part(input(), self_);
    for_others(flow.give, [&](int rank) { return part(input(), rank); });
    for_others(flow.take, [&](int) { return StagedPiece{nullptr, own.bytes}; });
    flow.operands = true;
    flow.own = own;
    flow.out = part(output(), self_);
    return flow;
  }
  Flow gather_parts() const {
    Flow flow(nranks_, true);
    for_others(flow.give, [&](int) { return part(output(), self_); });
    for_others(flow.take, [&](int rank) { return part(output(), rank); });
    return flow;
  }

  const Call& call_;
  int self_;
  int nranks_;
};

/// Cuts exchanges into rounds.
class StagedPlanner {
 public:
  StagedPlanner(const Call& call, const Signature& signature, const StagingView& view)
      : call_(call), signature_(signature), view_(view) {}

  void add(const Flow& flow) {
    find_seen(flow);
    const size_t block_bytes = view_.geometry.block_bytes(flow.shared);
    size_t tiles = 1;
    for (const Pieces* pieces : {&flow.give, &flow.take})
      for (const auto& piece : *pieces)
        if (piece) tiles = std::max(tiles, tiles_of(piece->bytes, block_bytes));
    if (flow.out) tiles = std::max(tiles, tiles_of(flow.out->bytes, block_bytes));
    for (size_t tile = 0; tile < tiles; ++tile) add_round(flow, tile, block_bytes);
  }
  StagedPlan take() { return std::move(plan_); }

 private:
  /// A tile's part of a piece.
  struct Cut {
    size_t begin;
    size_t bytes;
  };
  static Cut cut(size_t bytes, size_t tile, size_t block_bytes) {
    const size_t begin = std::min(bytes, tile * block_bytes);
    return {begin, std::min(block_bytes, bytes - begin)};
  }
  static std::vector<int> partners(const Pieces& pieces, size_t tile, size_t block_bytes) {
    std::vector<int> found;
    for (size_t rank = 0; rank < pieces.size(); ++rank)
      if (pieces[rank] && tile < tiles_of(pieces[rank]->bytes, block_bytes))
        found.push_back(static_cast<int>(rank));
    return found;
  }
  std::byte* own_block(int slot, bool shared, int reader) const {
    return view_.staging[static_cast<size_t>(view_.self)] + view_.geometry.block(slot, shared, reader);
  }
  const std::byte* block_of(int writer, int slot, bool shared) const {
    return view_.staging[static_cast<size_t>(writer)] + view_.geometry.block(slot, shared, view_.self);
  }
  bool scales(const Flow& flow) const { return flow.operands && call_.op.scales_input; }

  static bool overlap(const StagedPiece& a, const StagedPiece& b) {
    return a.at < b.at + b.bytes && b.at < a.at + a.bytes;
  }
  /// Whether this rank writes to the piece in the same exchange, while others may still read it.
  static bool is_written(const Flow& flow, const StagedPiece& piece) {
    if (flow.out) return overlap(*flow.out, piece);
    const bool copies_own = flow.own_out != nullptr && flow.own_out != flow.own->at;
    if (copies_own && overlap({flow.own_out, flow.own->bytes}, piece)) return true;
    return std::any_of(flow.take.begin(), flow.take.end(),
                       [&](const auto& taken) { return taken && overlap(*taken, piece); });
  }
  /// An in-place all_reduce gives parts of its input in the first exchange and overwrites them in the second.
  /// That is safe: each part is overwritten only once the rank that read it has sent the result.
  void find_seen(const Flow& flow) {
    seen_.assign(flow.give.size(), nullptr);
    if (scales(flow)) return;
    for (size_t reader = 0; reader < flow.give.size(); ++reader) {
      const auto& piece = flow.give[reader];
      if (piece && piece->bytes != 0 && !is_written(flow, *piece))
        seen_[reader] = view_.windows->seen_by(static_cast<int>(reader), piece->at, piece->bytes);
    }
  }
  const std::byte* seen_by(int reader) const { return seen_[static_cast<size_t>(reader)]; }

  void add_round(const Flow& flow, size_t tile, size_t block_bytes) {
    StagedRound round;
    round.slot = static_cast<int>(tile % kSlots);
    round.readers = partners(flow.give, tile, block_bytes);
    round.writers = partners(flow.take, tile, block_bytes);
    produce(flow, tile, block_bytes, round);
    consume(flow, tile, block_bytes, round);
    plan_.rounds.push_back(std::move(round));
  }

  /// Operands that need scaling, including this rank's own, are scaled as they are staged.
  DeviceFolds producing(const Flow& flow) const {
    if (!scales(flow)) return {ElementType::UInt8, Reduction::Sum};
    DeviceFolds folds(call_.type.element(), call_.op.built_in);
    DeviceFolds::Scalar scalar;
    std::memcpy(scalar.data(), call_.op.scalar, sizeof scalar);
    folds.scale(1, {&scalar, 1});
    return folds;
  }
  static void add_one(DeviceFolds& folds, const void* from, void* to, size_t count) {
    folds.add({&from, 1}, {&to, 1}, count);
  }
  bool stages_own(const Flow& flow) const { return scales(flow) && flow.own.has_value(); }

  void produce(const Flow& flow, size_t tile, size_t block_bytes, StagedRound& round) {
    DeviceFolds folds = producing(flow);
    const size_t unit = scales(flow) ? call_.type.bytes : 1;
    const auto stage = [&](const StagedPiece& piece, int reader) {
      const Cut now = cut(piece.bytes, tile, block_bytes);
      add_one(folds, piece.at + now.begin, own_block(round.slot, flow.shared, reader), now.bytes / unit);
      plan_.stages |= now.bytes != 0;
    };
    std::vector<int> staged;
    for (const int reader : round.readers)
      if (seen_by(reader) == nullptr) staged.push_back(reader);
    plan_.in_place |= staged.size() < round.readers.size();
    if (flow.shared && !staged.empty()) staged.resize(1);
    for (const int reader : staged) stage(*flow.give[static_cast<size_t>(reader)], reader);
    if (stages_own(flow) && (!flow.shared || staged.empty())) stage(*flow.own, view_.self);
    StampPlan stamps = stamps_of(true);
    for (const int reader : round.readers) {
      const std::byte* const seen = seen_by(reader);
      stamps.entries.push_back({stamp_at(view_.self, round.slot, reader), length(flow.give, reader),
                                seen == nullptr ? nullptr : seen + tile * block_bytes});
    }
    folds.stamp(stamps);
    round.produce.push_back(std::move(folds));
  }

  void consume(const Flow& flow, size_t tile, size_t block_bytes, StagedRound& round) {
    StampPlan stamps = stamps_of(false);
    for (const int writer : round.writers)
      stamps.entries.push_back({stamp_at(writer, round.slot, view_.self), length(flow.take, writer),
                                block_of(writer, round.slot, flow.shared)});
    DeviceFolds folds =
        flow.out ? combine(flow, tile, block_bytes, round) : copy(flow, tile, block_bytes, round);
    folds.stamp(stamps);
    round.consume.push_back(std::move(folds));
  }

  DeviceFolds combine(const Flow& flow, size_t tile, size_t block_bytes, const StagedRound& round) const {
    const bool avg = call_.op.built_in == Reduction::Avg;
    DeviceFolds folds(call_.type.element(), call_.op.built_in, avg ? view_.geometry.nranks() : 1);
    const Cut now = cut(flow.out->bytes, tile, block_bytes);
    std::vector<const void*> sources;
    for (int rank = 0; rank < view_.geometry.nranks(); ++rank) {
      if (rank == view_.self && flow.own)
        sources.push_back(stages_own(flow) ? own_block(round.slot, flow.shared, rank)
                                           : flow.own->at + now.begin);
      else if (flow.take[static_cast<size_t>(rank)])
        sources.push_back(block_of(rank, round.slot, flow.shared));
    }
    void* out = flow.out->at + now.begin;
    folds.add(sources, {&out, 1}, now.bytes / call_.type.bytes);
    return folds;
  }

  DeviceFolds copy(const Flow& flow, size_t tile, size_t block_bytes, const StagedRound& round) const {
    DeviceFolds folds(ElementType::UInt8, Reduction::Sum);
    for (const int writer : round.writers) {
      const StagedPiece& piece = *flow.take[static_cast<size_t>(writer)];
      const Cut now = cut(piece.bytes, tile, block_bytes);
      add_one(folds, block_of(writer, round.slot, flow.shared), piece.at + now.begin, now.bytes);
    }
    if (tile == 0 && flow.own_out != nullptr && flow.own_out != flow.own->at)
      add_one(folds, flow.own->at, flow.own_out, flow.own->bytes);
    return folds;
  }

  Stamp* stamp_at(int writer, int slot, int reader) const {
    return reinterpret_cast<Stamp*>(view_.staging[static_cast<size_t>(writer)] +
                                    view_.geometry.stamp(slot, reader));
  }
  /// The number of elements that a pair exchanges, as in its stamp.
  uint64_t length(const Pieces& pieces, int partner) const {
    if (!call_.varying) return signature_.count;
    return pieces[static_cast<size_t>(partner)]->bytes / std::max<size_t>(1, call_.type.bytes);
  }
  StampPlan stamps_of(bool writes) const {
    return {.writes = writes,
            .signature = signature_,
            .rank = view_.self,
            .ticks = &view_.words->ticks,
            .note = &view_.words->note,
            .stopped = &view_.words->stopped,
            .entries = {}};
  }

  const Call& call_;
  const Signature& signature_;
  const StagingView& view_;
  std::vector<const std::byte*> seen_;  // by reader: the piece it reads in place; null: staged
  StagedPlan plan_;
};

}  // namespace

bool in_two_steps(const Call& call, int nranks) {
  return call.kind == CollectiveKind::AllReduce && nranks > 2 &&
         call.count * call.type.bytes >= bytes_of(Threshold::OneStepVector);
}

int staged_steps(const Call& call, int nranks) { return in_two_steps(call, nranks) ? 2 : 1; }

double staged_volume(const Call& call, int nranks, int from, int to) {
  const double part = 1.0 / nranks;
  switch (call.kind) {
    case CollectiveKind::AllReduce: return in_two_steps(call, nranks) ? 2 * part : 1;
    case CollectiveKind::Reduce: return to == call.root ? 1 : 0;
    case CollectiveKind::Broadcast: return from == call.root ? 1 : 0;
    case CollectiveKind::AllGather:
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::AllToAll: return part;
    case CollectiveKind::Gather: return to == call.root ? part : 0;
    case CollectiveKind::Scatter: return from == call.root ? part : 0;
    case CollectiveKind::Scan:
    case CollectiveKind::Exscan: return to > from ? 1 : 0;
    case CollectiveKind::Barrier:
    case CollectiveKind::PointToPoint: break;
  }
  return 0;
}

StagedPlan plan_staged(const Call& call, const Signature& signature, const StagingView& view) {
  StagedPlanner planner(call, signature, view);
  for (const Flow& flow : Flows(call, view.self, view.geometry.nranks()).make()) planner.add(flow);
  return planner.take();
}

}  // namespace rondo
