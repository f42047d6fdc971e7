// SPDX-License-Identifier: Apache-2.0
#include "layout.h"

#include <iterator>

namespace rondo::perf {
namespace {

using From = DataPiece::From;

constexpr size_t kGap = 3;  // elements between blocks, in forms whose caller chooses the offsets

DataPiece input(size_t offset, size_t count, int rank, size_t index) {
  return {From::Input, offset, count, index, rank, rank};
}

DataPiece reduced(size_t offset, size_t count, int first, int last, size_t index) {
  return {From::Reduced, offset, count, index, first, last};
}

DataPiece untouched(size_t offset, size_t count) { return {From::Untouched, offset, count, 0, 0, 0}; }

// The length of the block from `from` to `to`.
size_t block_count(const DataShape& shape, int from, int to) {
  if (!shape.varying) return shape.count;
  static constexpr size_t halves[] = {1, 3, 0, 2, 4};
  return shape.count * halves[static_cast<size_t>(from + 2 * to) % std::size(halves)] / 2;
}

// The blocks of a buffer: lengths and offsets by rank.
struct BlockLengths {
  std::vector<size_t> counts, displs;
  size_t extent = 0;
};

BlockLengths one_after_the_other(std::vector<size_t> counts) {
  BlockLengths blocks{std::move(counts), {}, 0};
  for (size_t count : blocks.counts) {
    blocks.displs.push_back(blocks.extent);
    blocks.extent += count;
  }
  return blocks;
}

BlockLengths reversed_with_gaps(std::vector<size_t> counts) {
  BlockLengths blocks{std::move(counts), {}, 0};
  blocks.displs.resize(blocks.counts.size());
  for (size_t r = blocks.counts.size(); r-- > 0;) {
    blocks.displs[r] = blocks.extent;
    blocks.extent += blocks.counts[r] + kGap;
  }
  return blocks;
}

// The blocks that `rank` sends to each rank (sending), or receives from each.
BlockLengths blocks_of(const DataShape& shape, int rank, bool sending) {
  std::vector<size_t> counts;
  for (int peer = 0; peer < shape.nranks; ++peer)
    counts.push_back(sending ? block_count(shape, rank, peer) : block_count(shape, peer, rank));
  return shape.varying ? reversed_with_gaps(std::move(counts)) : one_after_the_other(std::move(counts));
}

// The blocks that one rank gathers or scatters: their lengths do not depend on the root.
BlockLengths common_blocks(const DataShape& shape) {
  DataShape anyone = shape;
  anyone.rank = 0;
  return blocks_of(anyone, 0, false);
}

// Every block of reversed_with_gaps() is followed by a gap that must not be written.
void expect_gaps(const BlockLengths& blocks, std::vector<DataPiece>& expect) {
  for (size_t r = 0; r < blocks.counts.size(); ++r)
    expect.push_back(untouched(blocks.displs[r] + blocks.counts[r], kGap));
}

void gather_pieces(const BlockLengths& blocks, std::vector<DataPiece>& expect) {
  for (size_t r = 0; r < blocks.counts.size(); ++r)
    expect.push_back(input(blocks.displs[r], blocks.counts[r], static_cast<int>(r), 0));
}

// Every rank's input and output have `count` elements.
void fill_plain(const DataShape& shape, DataLayout& layout) {
  const CollectiveTraits& kind = traits(shape.collective);
  const size_t count = shape.count;
  layout.send_extent = layout.recv_extent = count;
  layout.send = {input(0, count, shape.rank, 0)};
  DataPiece result = untouched(0, count);
  if (shape.one_way && !receives_one_way(shape.rank)) {
    // Receives nothing.
  } else if (!kind.reduces()) {
    const int left = (shape.rank + shape.nranks - 1) % shape.nranks;
    result = input(0, count, kind.has_root() ? shape.root : left, 0);  // left: in send_recv
  } else if (kind.has_result(shape.rank, shape.root)) {
    result = reduced(0, count, 0, kind.operands_end(shape.rank, shape.nranks) - 1, 0);
  }
  layout.expect = {result};
  layout.expect_in_place = result.from == From::Untouched ? layout.send : layout.expect;
}

void fill_gather(const DataShape& shape, DataLayout& layout) {
  const BlockLengths blocks = common_blocks(shape);
  const auto rank = static_cast<size_t>(shape.rank);
  layout.send_extent = blocks.counts[rank];
  layout.recv_extent = blocks.extent;
  layout.send = {input(0, blocks.counts[rank], shape.rank, 0)};
  layout.in_place_send = blocks.displs[rank];
  if (shape.collective == Collective::AllGather || shape.rank == shape.root) {
    gather_pieces(blocks, layout.expect);
    if (shape.varying) expect_gaps(blocks, layout.expect);
    layout.expect_in_place = layout.expect;
  } else {
    layout.expect = {untouched(0, blocks.extent)};
    layout.expect_in_place = {input(blocks.displs[rank], blocks.counts[rank], shape.rank, 0)};
  }
  layout.recv_counts = blocks.counts;
  layout.recv_displs = blocks.displs;
}

void fill_scatter(const DataShape& shape, DataLayout& layout) {
  const bool reduces = shape.collective == Collective::ReduceScatter;
  BlockLengths blocks = common_blocks(shape);
  if (reduces) blocks = one_after_the_other(blocks.counts);
  const auto rank = static_cast<size_t>(shape.rank);
  layout.send_extent = blocks.extent;
  layout.recv_extent = blocks.counts[rank];
  layout.in_place_recv = blocks.displs[rank];
  const size_t mine = blocks.displs[rank];
  const size_t count = blocks.counts[rank];
  if (reduces) {
    layout.send = {input(0, blocks.extent, shape.rank, 0)};
    layout.expect = {reduced(0, count, 0, shape.nranks - 1, mine)};
  } else {
    if (shape.rank == shape.root) layout.send = {input(0, blocks.extent, shape.rank, 0)};
    layout.expect = {input(0, count, shape.root, mine)};
  }
  layout.expect_in_place = layout.expect;
  layout.send_counts = blocks.counts;
  layout.send_displs = blocks.displs;
}

void fill_all_to_all(const DataShape& shape, DataLayout& layout) {
  const BlockLengths out = blocks_of(shape, shape.rank, true);
  const BlockLengths in = blocks_of(shape, shape.rank, false);
  layout.send_extent = out.extent;
  layout.recv_extent = in.extent;
  layout.send = {input(0, out.extent, shape.rank, 0)};
  for (int peer = 0; peer < shape.nranks; ++peer) {
    const auto p = static_cast<size_t>(peer);
    const size_t theirs = blocks_of(shape, peer, true).displs[static_cast<size_t>(shape.rank)];
    layout.expect.push_back(input(in.displs[p], in.counts[p], peer, theirs));
  }
  if (shape.varying) expect_gaps(in, layout.expect);
  layout.send_counts = out.counts;
  layout.send_displs = out.displs;
  layout.recv_counts = in.counts;
  layout.recv_displs = in.displs;
}

}  // namespace

DataLayout make_layout(const DataShape& shape) {
  DataLayout layout;
  layout.count = shape.count;
  switch (shape.collective) {
    case Collective::Barrier: break;
    case Collective::AllGather:
    case Collective::Gather: fill_gather(shape, layout); break;
    case Collective::ReduceScatter:
    case Collective::Scatter: fill_scatter(shape, layout); break;
    case Collective::AllToAll: fill_all_to_all(shape, layout); break;
    case Collective::Hypercube: {
      DataShape gathered = shape;
      gathered.collective = Collective::AllGather;
      return make_layout(gathered);
    }
    default: fill_plain(shape, layout);
  }
  return layout;
}

}  // namespace rondo::perf
