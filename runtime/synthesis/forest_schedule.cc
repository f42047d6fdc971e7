// SPDX-License-Identifier: Apache-2.0
#include "forest_schedule.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "synthesis/forest_algorithm.h"

namespace rondo {
namespace {

/// A tree that a collective uses, and what it carries of the block of its root (of the vector, if buffers
/// hold no blocks).
struct UsedTree {
  const Tree* tree;
  int first_part = 0;
  int parts = 1;
};

std::vector<UsedTree> used_trees(const Shape& shape, const Forest& forest) {
  if (shape.kind == CollectiveKind::Barrier) return {{.tree = &forest.trees.front()}};
  const CollectiveTraits& kind = traits(shape.kind);
  std::vector<UsedTree> used;
  int next = 0;
  for (size_t i = 0; i < forest.trees.size(); ++i) {
    const Tree& tree = forest.trees[i];
    const bool is_next_root = i > 0 && tree.root != forest.trees[i - 1].root;
    if (is_next_root && shape.kind != CollectiveKind::AllReduce) next = 0;
    if (kind.has_root() && tree.root != shape.root) continue;
    used.push_back({&tree, next, static_cast<int>(tree.weight)});
    next += static_cast<int>(tree.weight);
  }
  return used;
}

/// Where a rank is in a tree.
struct ForestPlace {
  int parent = -1;  // -1: it is the root
  std::vector<int>
      children;  // from the next higher rank around, so that ranks do not all send to the same first

  ForestPlace(const Tree& tree, int rank) {
    for (const TreeEdge& edge : tree.edges) {
      if (edge.parent == rank) children.push_back(edge.child);
      if (edge.child == rank) parent = edge.parent;
    }
    std::ranges::sort(children, {}, [rank](int child) { return std::pair(child < rank, child); });
  }
  bool is_root() const { return parent < 0; }
};

/// Adds the Steps of one tree at one rank.
class TreeSteps {
 public:
  TreeSteps(const Shape& shape, const UsedTree& used, int up_lane, Schedule& schedule)
      : used_(used), place_(*used.tree, schedule.rank), up_(up_lane), schedule_(schedule) {
    const CollectiveTraits& kind = traits(shape.kind);
    const int of_root = used.tree->root * schedule.chunks.parts + used.first_part;
    in_ = kind.sends_blocks() ? of_root : used.first_part;
    out_ = kind.receives_blocks() ? of_root : used.first_part;
  }

  /// Folds what the children send, and passes it on; returns the index of the Step.
  int reduce() {
    std::vector<int> fold = place_.children;
    fold.push_back(schedule_.rank);
    std::sort(fold.begin(), fold.end());
    if (place_.is_root())
      return add(up_, {.recv = fold, .src = input(in_), .dst = output(out_), .finish = true});
    return add(up_, {.recv = fold, .src = input(in_), .send = {place_.parent}});
  }

  void broadcast() {
    if (place_.is_root())
      add(up_, {.src = input(in_), .dst = output(out_), .send = place_.children});
    else
      receive_down(up_);
  }

  void all_reduce() {
    const int reduced = reduce();
    if (!place_.is_root())
      receive_down(up_ + 1);
    else if (!place_.children.empty())
      add(up_ + 1, {.src = output(out_), .send = place_.children, .after_lane = up_, .after_step = reduced});
  }

  void gather() {
    add(up_, place_.is_root() ? Move{.src = input(in_), .dst = output(out_)}
                              : Move{.src = input(in_), .send = {place_.parent}});
    for (const Passing& block : blocks_passing()) {
      if (place_.is_root())
        add(up_, {.recv = {block.child}, .dst = output(of_rank(block.owner))});
      else
        add(up_, {.recv = {block.child}, .dst = scratch(used_.first_part), .send = {place_.parent}});
    }
  }

  void scatter() {
    add(up_, place_.is_root() ? Move{.src = input(in_), .dst = output(out_)}
                              : Move{.recv = {place_.parent}, .dst = output(out_)});
    for (const Passing& block : blocks_passing()) {
      if (place_.is_root())
        add(up_, {.src = input(of_rank(block.owner)), .send = {block.child}});
      else
        add(up_, {.recv = {place_.parent}, .dst = scratch(used_.first_part), .send = {block.child}});
    }
  }

  void barrier() {
    for (const int child : place_.children) schedule_.add({.recv = {child}, .dst = output(0)});
    if (!place_.is_root()) {
      schedule_.add({.src = input(0), .send = {place_.parent}});
      schedule_.add({.recv = {place_.parent}, .dst = output(0)});
    }
    if (!place_.children.empty()) schedule_.add({.src = input(0), .send = place_.children});
  }

 private:
  /// A block that passes through this rank, from or to a child.
  struct Passing {
    int child;
    int owner;
  };

  int add(int lane, Move move) {
    move.count = used_.parts;
    return schedule_.add(lane, move);
  }
  void receive_down(int lane) {
    add(lane, {.recv = {place_.parent}, .dst = output(out_), .send = place_.children});
  }
  int of_rank(int rank) const { return rank * schedule_.chunks.parts + used_.first_part; }

  /// The owners of the blocks that pass between a rank and its parent, in order: the own block first, then
  /// the children's by turns, so that none has to wait for all of another's.
  std::vector<int> blocks_of(int rank) const {
    std::vector<int> owners = {rank};
    for (const Passing& block : by_turns(ForestPlace(*used_.tree, rank).children))
      owners.push_back(block.owner);
    return owners;
  }
  std::vector<Passing> by_turns(const std::vector<int>& children) const {
    std::vector<std::vector<int>> blocks;
    size_t longest = 0;
    for (const int child : children)
      longest = std::max(longest, blocks.emplace_back(blocks_of(child)).size());
    std::vector<Passing> all;
    for (size_t turn = 0; turn < longest; ++turn)
      for (size_t i = 0; i < children.size(); ++i)
        if (turn < blocks[i].size()) all.push_back({children[i], blocks[i][turn]});
    return all;
  }
  std::vector<Passing> blocks_passing() const { return by_turns(place_.children); }

  const UsedTree& used_;
  const ForestPlace place_;
  const int up_;  // the only lane, or the one up
  Schedule& schedule_;
  int in_ = 0;  // the root's chunk of the input, and of the output
  int out_ = 0;
};

void add_steps(TreeSteps& steps, CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::AllGather:
    case CollectiveKind::Broadcast: return steps.broadcast();
    case CollectiveKind::ReduceScatter:
    case CollectiveKind::Reduce: steps.reduce(); return;
    case CollectiveKind::AllReduce: return steps.all_reduce();
    case CollectiveKind::Gather: return steps.gather();
    case CollectiveKind::Scatter: return steps.scatter();
    case CollectiveKind::Barrier: return steps.barrier();
    case CollectiveKind::AllToAll:
    case CollectiveKind::Scan:
    case CollectiveKind::Exscan:
    case CollectiveKind::PointToPoint: break;
  }
}

size_t lanes_of_tree(const Shape& shape) { return shape.kind == CollectiveKind::AllReduce ? 2 : 1; }

/// How many trees run at the same time. If there are more, each lane has several, in an order that is that of
/// all ranks: a tree then waits only for those before it, so that none waits for ever.
size_t trees_at_once(const Shape& shape, size_t trees) {
  const auto divide_up = [](size_t a, size_t b) { return (a + b - 1) / b; };
  return divide_up(trees, divide_up(trees, kMaxPlanLanes / lanes_of_tree(shape)));
}

}  // namespace

bool forest_supports(const Shape& shape, const Forest& forest) {
  const CollectiveTraits& kind = traits(shape.kind);
  if (shape.nranks != static_cast<int>(forest.gpus.size()) || forest.trees.empty()) return false;
  if (!has_forest(shape.kind)) return false;
  if (kind.reduces() && !shape.commutative) return false;
  if (kind.has_root() && shape.varying) return false;
  return shape.nranks * forest.k < Step::kNone;
}

int forest_parts(const Shape& shape, const Forest& forest) {
  if (shape.kind == CollectiveKind::Barrier) return 1;
  const auto k = static_cast<int>(forest.k);
  return shape.kind == CollectiveKind::AllReduce ? shape.nranks * k : k;
}

int forest_slot_chunks(const Shape& shape, const Forest& forest) {
  int most = 1;
  for (const UsedTree& used : used_trees(shape, forest)) most = std::max(most, used.parts);
  return most;
}

Schedule from_forest(const Shape& shape, int rank, const Forest& forest) {
  const int parts = forest_parts(shape, forest);
  const bool relays = shape.kind == CollectiveKind::Gather || shape.kind == CollectiveKind::Scatter;
  Schedule schedule(shape, rank, parts, relays ? parts : 0);
  schedule.slot_chunks = forest_slot_chunks(shape, forest);
  const std::vector<UsedTree> trees = used_trees(shape, forest);
  const auto first =
      std::ranges::find_if(trees, [rank](const UsedTree& used) { return used.tree->root >= rank; });
  const auto own = static_cast<size_t>(first - trees.begin());  // where the rank's own trees begin
  const size_t lanes = lanes_of_tree(shape), ways = trees_at_once(shape, trees.size());
  for (size_t i = 0; i < ways; ++i)
    for (size_t tree = (own + i) % ways; tree < trees.size(); tree += ways) {
      TreeSteps steps(shape, trees[tree], static_cast<int>(i * lanes), schedule);
      add_steps(steps, shape.kind);
    }
  for (size_t i = 0; i < schedule.lanes.size(); ++i)
    schedule.lanes[i].port = static_cast<uint16_t>((own * lanes + i) % (ways * lanes));
  return schedule;
}

}  // namespace rondo
