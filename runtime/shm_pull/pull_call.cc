// SPDX-License-Identifier: Apache-2.0
#include "pull_call.h"

#include <algorithm>

#include "mailbox_table.h"

namespace rondo {
namespace {

/// Shorter pieces overlap better, but each costs two transfers of the line of `ready`.
constexpr size_t kPieceBytes = 16384;

size_t input_bytes(const BufferLayout& input) {
  size_t bytes = 0;
  for (int chunk = 0; chunk < input.chunks; ++chunk) bytes += input.piece(0, chunk).bytes;
  return bytes;
}

/// Where posts of this length hold their data.
size_t place_of(size_t bytes) {
  if (bytes <= Mailbox::kHeadBytes) return offsetof(Mailbox, head);
  return bytes <= Mailbox::kBriefBytes ? offsetof(Mailbox, brief) : 0;
}

/// The bytes of a piece: whole elements.
size_t piece_of(size_t element_bytes) {
  return std::max(element_bytes, kPieceBytes - kPieceBytes % element_bytes);
}

/// Found once, as it takes as long as a short fold.
ReduceKernel kernel_for(const PullCall::PullOperand& read) {
  const std::vector<const void*> any(read.sources);
  ReduceArgs args = read.whole;
  args.sources = any;
  return kernel_of(args);
}

}  // namespace

/// All ranks' buffers have the same layout. From the second round on, a rank posts a chunk of its Output.
PullCall::PullCall(const PullPlan& plan, const CallArgs& binding, int rank, size_t round)
    : posts(plan.all[round].posts),
      mutual(plan.all[round].mutual),
      piece_bytes(piece_of(binding.layout.input.element_bytes)),
      type(binding.type),
      op(binding.op),
      scales(round == 0 && binding.reduces && binding.op.scales_input) {
  const PullRound& planned_round = plan.all[round];
  const BufferLayout& out_layout = binding.layout.output;
  const bool first = round == 0;
  posted_bytes = first ? input_bytes(binding.layout.input) : out_layout.piece(0, planned_round.posted).bytes;
  // All ranks must expect posts in the same place; no part is longer than the first.
  place = place_of(first ? posted_bytes : out_layout.piece(0, 0).bytes);
  const bool averages = op.built_in == Reduction::Avg && op.function == nullptr;
  for (const PullRound::Gather& planned : planned_round.reads) {
    const Piece out = out_layout.piece(0, planned.dst);
    PullOperand read{.offset = out.offset, .bytes = out.bytes, .first = sources.size()};
    if (type.built_in())
      read.whole = {.count = out.bytes / type.bytes, .type = type.element(), .op = op.built_in};
    for (const PullRound::Source source : planned.sources) {
      if (source.rank == rank && scales)
        read.whole.scaled_source = static_cast<int>(sources.size() - read.first);
      sources.push_back({source.rank, first ? binding.layout.input.piece(0, source.chunk).offset : 0});
      if (source.rank != rank && std::ranges::find(peers, source.rank) == peers.end())
        peers.push_back(source.rank);
    }
    read.sources = sources.size() - read.first;
    if (planned.finish && averages) read.whole.divisor = binding.nranks;
    read.is_copy = read.sources == 1 && read.whole.scaled_source < 0 && read.whole.divisor == 1;
    if (!read.is_copy && op.function == nullptr) read.kernel = kernel_for(read);
    reads.push_back(read);
  }
  const auto is_own = [&](const PullOperand& read) {
    return read.sources == 1 && sources[read.first].rank == rank;
  };
  const auto others = std::stable_partition(reads.begin(), reads.end(), is_own);
  own_reads = static_cast<size_t>(others - reads.begin());
  if (round + 1 == plan.all.size()) return;
  next = std::make_unique<PullCall>(plan, binding, rank, round + 1);
  next_posts = out_layout.piece(0, plan.all[round + 1].posted).offset;
}

void PullCall::use(const void* send, void* recv) {
  input = static_cast<const std::byte*>(send);
  output = static_cast<std::byte*>(recv);
  if (next) next->use(output + next_posts, output);
}

}  // namespace rondo
