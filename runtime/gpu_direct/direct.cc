// SPDX-License-Identifier: Apache-2.0
#include "gpu_direct/direct.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <vector>

#include "base/error_kinds.h"
#include "gpu/device.h"

namespace rondo {
namespace {

using LocalCall = LocalGroup::LocalCall;

/// Folds for one device.
struct DirectFolds {
  int device = 0;
  DeviceFolds folds;
};

constexpr size_t kSliceBytes = 4096;  // a device's share of a vector is a multiple of this

/// The launches of all ranks together: each fold reads its operands in place, in rank order as in the
/// one-shot and two-shot algorithms, and writes the result to its destination. `calls`: by rank, with equal
/// signatures. Launches of one device must run in this order; those of different devices are independent.
class DirectPlanner {
 public:
  explicit DirectPlanner(std::span<const LocalCall> calls)
      : calls_(calls), first_(*calls.front().call), nranks_(static_cast<int>(calls.size())) {
    std::set<int> devices;
    for (const LocalCall& one : calls_) devices.insert(one.device);
    devices_.assign(devices.begin(), devices.end());
  }

  /// Mismatch if ranks disagree about the lengths of blocks of a _v form.
  Result<std::vector<DirectFolds>> plan() {
    switch (first_.kind) {
      case CollectiveKind::AllReduce: share(all_inputs(), all_outputs(), first_.count); break;
      case CollectiveKind::Reduce: share(all_inputs(), {output(first_.root)}, first_.count); break;
      case CollectiveKind::Broadcast: share({input(first_.root)}, all_outputs(), first_.count); break;
      case CollectiveKind::AllGather: RONDO_TRY(all_gather()); break;
      case CollectiveKind::Gather: RONDO_TRY(gather()); break;
      case CollectiveKind::ReduceScatter: RONDO_TRY(reduce_scatter()); break;
      case CollectiveKind::Scatter: RONDO_TRY(scatter()); break;
      case CollectiveKind::AllToAll: RONDO_TRY(all_to_all()); break;
      case CollectiveKind::Scan: scan(false); break;
      case CollectiveKind::Exscan: scan(true); break;
      case CollectiveKind::Barrier:
      case CollectiveKind::PointToPoint: break;
    }
    return std::move(launches_);
  }

 private:
  using Sources = std::vector<const void*>;
  using Outs = std::vector<void*>;

  const Call& call(int rank) const { return *calls_[static_cast<size_t>(rank)].call; }
  int device(int rank) const { return calls_[static_cast<size_t>(rank)].device; }
  bool at_root(int rank) const { return rank == first_.root; }

  /// Offset of a rank's block, in elements.
  static size_t offset(const Call& call, const Blocks& blocks, int block) {
    const auto b = static_cast<size_t>(block);
    return call.varying ? blocks.offsets[b] : b * call.count;
  }
  static size_t length(const Call& call, const Blocks& blocks, int block) {
    return call.varying ? blocks.counts[static_cast<size_t>(block)] : call.count;
  }
  const void* input(int rank, size_t elements = 0) const {
    return static_cast<const std::byte*>(call(rank).send) + elements * first_.type.bytes;
  }
  void* output(int rank, size_t elements = 0) const {
    return static_cast<std::byte*>(call(rank).recv) + elements * first_.type.bytes;
  }
  const void* input_block(int rank, int block) const {
    return input(rank, offset(call(rank), call(rank).send_blocks, block));
  }
  void* output_block(int rank, int block) const {
    return output(rank, offset(call(rank), call(rank).recv_blocks, block));
  }
  Sources all_inputs(int end) const {
    Sources sources;
    for (int rank = 0; rank < end; ++rank) sources.push_back(input(rank));
    return sources;
  }
  Sources all_inputs() const { return all_inputs(nranks_); }
  Outs all_outputs() const {
    Outs outs;
    for (int rank = 0; rank < nranks_; ++rank) outs.push_back(output(rank));
    return outs;
  }

  /// Checks an element count that two ranks must agree on.
  Status agree(int rank_a, size_t a, int rank_b, size_t b) const {
    if (a == b) return {};
    return error(ErrorKind::RanksDisagree,
                 "ranks disagree about {}_v: rank {} has {} elements where rank {} has {}",
                 collective_name(first_.kind), rank_a, a, rank_b, b);
  }

  /// `op`: for collectives that only move bytes, the operation if it is not a plain copy.
  DirectFolds& new_launch(int device, Reduction op = Reduction::Sum) {
    if (!reduces(first_.kind)) return launches_.emplace_back(DirectFolds{device, {ElementType::UInt8, op}});
    const bool avg = first_.op.built_in == Reduction::Avg;
    launches_.push_back({device, {first_.type.element(), first_.op.built_in, avg ? nranks_ : 1}});
    if (first_.op.scales_input) {
      std::vector<DeviceFolds::Scalar> scalars(calls_.size());
      for (size_t rank = 0; rank < scalars.size(); ++rank)
        std::memcpy(scalars[rank].data(), calls_[rank].call->op.scalar, sizeof scalars[rank]);
      launches_.back().folds.scale(~uint64_t{0}, scalars);
    }
    return launches_.back();
  }
  DirectFolds& launch_on(int device, Reduction op = Reduction::Sum) {
    for (size_t i = stage_; i < launches_.size(); ++i)
      if (launches_[i].device == device) return launches_[i];
    return new_launch(device, op);
  }
  /// On each device, folds added from now on run after those added before.
  void next_stage() { stage_ = launches_.size(); }

  void add(DirectFolds& launch, const Sources& sources, const Outs& outs, size_t count) const {
    Outs others;  // a copy onto itself is skipped
    for (void* out : outs)
      if (sources.size() != 1 || out != sources.front() || reduces(first_.kind)) others.push_back(out);
    launch.folds.add(sources, others, reduces(first_.kind) ? count : count * first_.type.bytes);
  }

  /// One fold, divided among all devices.
  void share(const Sources& sources, const Outs& outs, size_t count) {
    const size_t slice = std::max<size_t>(1, kSliceBytes / first_.type.bytes);
    const size_t slices = (count + slice - 1) / slice;
    size_t begin = 0;
    for (size_t d = 0; d < devices_.size(); ++d) {
      const size_t end = std::min(count, slices * (d + 1) / devices_.size() * slice);
      Sources from;
      Outs to;
      for (const void* source : sources)
        from.push_back(static_cast<const std::byte*>(source) + begin * first_.type.bytes);
      for (void* out : outs) to.push_back(static_cast<std::byte*>(out) + begin * first_.type.bytes);
      if (end > begin) add(launch_on(devices_[d]), from, to, end - begin);
      begin = end;
    }
  }

  Status all_gather() {
    for (int from = 0; from < nranks_; ++from) {
      Outs outs;
      for (int rank = 0; rank < nranks_; ++rank) {
        RONDO_TRY(agree(from, call(from).count, rank, length(call(rank), call(rank).recv_blocks, from)));
        outs.push_back(output_block(rank, from));
      }
      add(launch_on(device(from)), {input(from)}, outs, call(from).count);
    }
    return {};
  }
  Status gather() {
    for (int from = 0; from < nranks_; ++from) {
      const Call& root = call(first_.root);
      RONDO_TRY(agree(from, call(from).count, first_.root, length(root, root.recv_blocks, from)));
      add(launch_on(device(from)), {input(from)}, {output_block(first_.root, from)}, call(from).count);
    }
    return {};
  }
  Status reduce_scatter() {
    for (int to = 0; to < nranks_; ++to) {
      Sources sources;
      for (int rank = 0; rank < nranks_; ++rank) {
        RONDO_TRY(agree(to, call(to).count, rank, length(call(rank), call(rank).send_blocks, to)));
        sources.push_back(input_block(rank, to));
      }
      add(launch_on(device(to)), sources, {output(to)}, call(to).count);
    }
    return {};
  }
  Status scatter() {
    for (int to = 0; to < nranks_; ++to) {
      const Call& root = call(first_.root);
      RONDO_TRY(agree(to, call(to).count, first_.root, length(root, root.send_blocks, to)));
      add(launch_on(device(to)), {input_block(first_.root, to)}, {output(to)}, call(to).count);
    }
    return {};
  }
  size_t sent_count(int from, int to) const { return length(call(from), call(from).send_blocks, to); }
  void move_block(int from, int to, int on_device) {
    add(launch_on(on_device), {input_block(from, to)}, {output_block(to, from)}, sent_count(from, to));
  }
  template <typename Each>
  void for_pairs(const Each& each) const {
    for (int a = 0; a < nranks_; ++a)
      for (int b = 0; b < nranks_; ++b) each(a, b);
  }
  /// If a rank receives in place, each incoming block overwrites the block that its sender is to get.
  Status all_to_all() {
    for (int from = 0; from < nranks_; ++from)
      for (int to = 0; to < nranks_; ++to)
        RONDO_TRY(agree(from, sent_count(from, to), to, length(call(to), call(to).recv_blocks, from)));
    const auto in_place = [&](int rank) { return is_in_place(call(rank), rank); };
    for_pairs([&](int from, int to) {
      if (!in_place(to)) move_block(from, to, device(in_place(from) ? from : to));
    });
    next_stage();
    for_pairs([&](int from, int to) {
      if (in_place(to) && !in_place(from)) move_block(from, to, device(to));
    });
    // Swaps without temporary memory: a ^= b, b ^= a, a ^= b.
    for (const bool into_first : {true, false, true}) {
      next_stage();
      for_pairs([&](int a, int b) {
        if (a >= b || !in_place(a) || !in_place(b)) return;
        void* const blocks[] = {output_block(a, b), output_block(b, a)};
        add(launch_on(device(a), Reduction::BitXor), {blocks[0], blocks[1]}, {blocks[into_first ? 0 : 1]},
            sent_count(a, b));
      });
    }
    return {};
  }
  /// One launch per rank, from the last rank down: in place, a result overwrites an input that only later
  /// ranks need.
  void scan(bool exclusive) {
    for (int to = nranks_ - 1; to >= (exclusive ? 1 : 0); --to)
      add(new_launch(devices_.front()), all_inputs(exclusive ? to : to + 1), {output(to)}, first_.count);
  }

  std::span<const LocalCall> calls_;
  const Call& first_;
  int nranks_;
  std::vector<int> devices_;
  std::vector<DirectFolds> launches_;
  size_t stage_ = 0;  // index of the first launch that may still be added to
};

}  // namespace

Status issue_direct(std::span<const LocalGroup::LocalCall> local_calls) {
  RONDO_TRY(check_one_graph(local_calls));
  RONDO_TRY_ASSIGN(const auto folds, DirectPlanner(local_calls).plan());
  return issue_in_order(local_calls, [&](std::span<const LocalCall> leaders) -> Status {
    for (const DirectFolds& one : folds) {
      const auto leader = std::find_if(leaders.begin(), leaders.end(), [&](const LocalCall& local_call) {
        return local_call.device == one.device;
      });
      const gpu::Current current(one.device);
      RONDO_TRY(current.status());
      RONDO_TRY(one.folds.launch(one.device, leader->stream));
    }
    return {};
  });
}

}  // namespace rondo
