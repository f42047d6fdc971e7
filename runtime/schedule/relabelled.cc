// SPDX-License-Identifier: Apache-2.0
#include "schedule/relabelled.h"

#include <algorithm>
#include <cassert>

namespace rondo {
namespace {

/// Which blocks a buffer holds: those of a rank each, in whose place another one stands now.
class BlockLabels {
 public:
  BlockLabels(const Shape& shape, const Schedule& schedule, std::span<const int> order)
      : kind_(traits(shape.kind)), varying_(shape.varying), parts_(schedule.chunks.parts), order_(order) {}

  int label(Buffer buffer, int chunk) const { return is_of_rank(buffer) ? of_rank(chunk) : chunk; }
  /// Whether chunks that a Step moves together stay consecutive, from the first one.
  bool may_move(Buffer buffer, int chunk, int count) const {
    return chunk % parts_ + count <= parts_ || !is_of_rank(buffer);
  }
  /// Scratch chunks keep their lengths, so that they are those of other ranks' blocks.
  int scratch_chunks(int chunks) const {
    const int all = static_cast<int>(order_.size()) * parts_;
    return is_of_rank(Buffer::Scratch) ? (chunks + all - 1) / all * all : chunks;
  }

 private:
  bool is_of_rank(Buffer buffer) const {
    switch (buffer) {
      case Buffer::Input: return kind_.sends_blocks();
      case Buffer::Output: return kind_.receives_blocks();
      case Buffer::Scratch: return kind_.has_blocks() && varying_;
      case Buffer::None: break;
    }
    return false;
  }
  int of_rank(int chunk) const {
    const int block = chunk / parts_, ranks = static_cast<int>(order_.size());
    const int label = block / ranks * ranks + order_[static_cast<size_t>(block % ranks)];
    return label * parts_ + chunk % parts_;
  }

  const CollectiveTraits& kind_;
  const bool varying_;
  const int parts_;
  const std::span<const int> order_;
};

}  // namespace

int place_in(std::span<const int> order, int rank) {
  return static_cast<int>(std::find(order.begin(), order.end(), rank) - order.begin());
}

Shape by_places(const Shape& shape, std::span<const int> order) {
  Shape by_place = shape;
  by_place.root = place_in(order, shape.root);
  by_place.order = {};
  return by_place;
}

Schedule relabelled(const Shape& shape, Schedule schedule, std::span<const int> order) {
  const BlockLabels blocks(shape, schedule, order);
  const auto label = [&](Buffer buffer, uint16_t& chunk) {
    chunk = static_cast<uint16_t>(blocks.label(buffer, chunk));
  };
  schedule.rank = order[static_cast<size_t>(schedule.rank)];
  schedule.scratch_chunks = blocks.scratch_chunks(schedule.scratch_chunks);
  for (auto& set : schedule.peer_sets)
    for (int& member : set)
      member = is_scratch_operand(member)
                   ? scratch_operand(blocks.label(Buffer::Scratch, chunk_of_operand(member)))
                   : order[static_cast<size_t>(member)];
  for (Lane& lane : schedule.lanes)
    for (Step& step : lane.steps) {
      assert(blocks.may_move(step.src(), step.src_chunk, step.count));
      assert(blocks.may_move(step.dst(), step.dst_chunk, step.count));
      label(step.src(), step.src_chunk);
      label(step.dst(), step.dst_chunk);
    }
  return schedule;
}

}  // namespace rondo
