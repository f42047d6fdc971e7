// SPDX-License-Identifier: Apache-2.0
#include "expressions.h"

#include <algorithm>
#include <bit>

namespace rondo {
namespace {

// Stand in for a right operand.
constexpr ExpressionId kFinished = -1;
constexpr ExpressionId kRounded = -2;

uint64_t pair_key(ExpressionId left, ExpressionId right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 | static_cast<uint32_t>(right);
}

// With more operands than this, only the bounds are printed: of a sum that continues regularly, and of a
// group that is deeper in a tree.
constexpr int kMaxOperands = 8;
constexpr int kMaxDepth = 2;

}  // namespace

ExpressionId Expressions::append(const Node& made) {
  nodes_.push_back(made);
  ranks_.resize(ranks_.size() + words_);
  return static_cast<ExpressionId>(nodes_.size()) - 1;
}

ExpressionId Expressions::leaf(int rank, int tile, int chunk) {
  const uint64_t key =
      static_cast<uint64_t>(tile) << 48 | static_cast<uint64_t>(chunk) << 24 | static_cast<uint64_t>(rank);
  const auto [place, fresh] = leaves_.try_emplace(key, -1);
  if (!fresh) return place->second;
  Node made;
  made.tile = tile;
  made.chunk = chunk;
  made.first = made.last = rank;
  place->second = append(made);
  const auto bit = static_cast<size_t>(rank);
  ranks_[static_cast<size_t>(place->second) * words_ + bit / 64] |= uint64_t{1} << bit % 64;
  return place->second;
}

Status Expressions::foldable(const Node& left, const Node& right) const {
  if (left.finished || right.finished)
    return error(Code::InternalError, "adds to a value that is already finished");
  if (left.tile != right.tile)
    return error(Code::InternalError, "adds tile {} to tile {}", right.tile, left.tile);
  if (left.chunk != right.chunk)
    return error(Code::InternalError, "adds chunk {} of rank {} to chunk {} of rank {}", right.chunk,
                 right.first, left.chunk, left.first);
  if (!commutative_ && left.last >= right.first)
    return error(Code::InternalError, "adds rank {} after rank {}, but the operands do not commute",
                 right.first, left.last);
  return {};
}

int Expressions::shared_rank(ExpressionId left, ExpressionId right) const {
  for (size_t word = 0; word < words_; ++word) {
    const uint64_t both = ranks_[static_cast<size_t>(left) * words_ + word] &
                          ranks_[static_cast<size_t>(right) * words_ + word];
    if (both != 0) return static_cast<int>(word * 64) + std::countr_zero(both);
  }
  return -1;
}

Result<ExpressionId> Expressions::fold(ExpressionId left, ExpressionId right) {
  const auto [place, fresh] = folds_.try_emplace(pair_key(left, right), -1);
  if (!fresh && place->second >= 0) return place->second;
  RONDO_TRY(foldable(node(left), node(right)));
  if (const int twice = shared_rank(left, right); twice >= 0)
    return error(Code::InternalError, "adds rank {}'s contribution twice", twice);
  Node made;
  made.left = left;
  made.right = right;
  made.tile = node(left).tile;
  made.chunk = node(left).chunk;
  made.first = std::min(node(left).first, node(right).first);
  made.last = std::max(node(left).last, node(right).last);
  made.leaves = node(left).leaves + node(right).leaves;
  const ExpressionId id = append(made);
  for (size_t word = 0; word < words_; ++word)
    ranks_[static_cast<size_t>(id) * words_ + word] = ranks_[static_cast<size_t>(left) * words_ + word] |
                                                      ranks_[static_cast<size_t>(right) * words_ + word];
  place->second = id;
  return id;
}

Result<ExpressionId> Expressions::finish(ExpressionId value) {
  if (node(value).finished) return error(Code::InternalError, "finishes a value that is already finished");
  if (!holds_exactly(value, 0, nranks_))
    return error(Code::InternalError, "finishes {}, which lacks ranks", describe(value));
  Node finished = node(value);
  finished.finished = true;
  finished.rounded = false;
  return change(value, kFinished, finished);
}

ExpressionId Expressions::round(ExpressionId value) {
  if (is_leaf(value) || node(value).rounded) return value;
  Node rounded = node(value);
  rounded.rounded = true;
  return change(value, kRounded, rounded);
}

/// A value derived from `value` as described by `changed`, with the same contributions.
ExpressionId Expressions::change(ExpressionId value, ExpressionId how, const Node& changed) {
  const auto [place, fresh] = folds_.try_emplace(pair_key(value, how), -1);
  if (!fresh) return place->second;
  Node made = changed;
  made.left = value;
  made.right = -1;
  const ExpressionId id = append(made);
  for (size_t word = 0; word < words_; ++word)
    ranks_[static_cast<size_t>(id) * words_ + word] = ranks_[static_cast<size_t>(value) * words_ + word];
  place->second = id;
  return id;
}

ExpressionId Expressions::unrounded(ExpressionId id) const { return node(id).rounded ? node(id).left : id; }

/// Walks from the last operand back to the first.
bool Expressions::has(Association association, ExpressionId id) const {
  if (association == Association::Any) return true;
  const auto open = [&](ExpressionId value) {
    return association == Association::RankOrder ? unrounded(value) : value;
  };
  ExpressionId at = unrounded(id);
  if (node(at).finished) at = open(node(at).left);
  for (; !is_leaf(at); at = open(node(at).left)) {
    const Node& fold = node(at);
    if (fold.right < 0 || !is_leaf(fold.right) || node(fold.right).first != fold.last) return false;
  }
  return true;
}

/// An operand's id is lower than that of what is made of it.
std::vector<int> Expressions::roundings(const FormulaStyle& style) const {
  std::vector<int> counts(nodes_.size());
  const auto count_of = [&](ExpressionId id) { return id < 0 ? 0 : counts[static_cast<size_t>(id)]; };
  for (size_t id = 0; id < nodes_.size(); ++id) {
    const Node& value = nodes_[id];
    if (value.leaves == 1) continue;  // an input already has the type
    const bool folds = value.right >= 0;
    const bool divides = !folds && !value.rounded && style.divisor != 1;
    const bool rounds = style.roundings ? value.rounded : folds || divides;
    counts[id] = std::max(count_of(value.left), count_of(value.right)) + (rounds ? 1 : 0);
  }
  return counts;
}

bool Expressions::holds_exactly(ExpressionId id, int first, int end) const {
  const Node& value = node(id);  // holds no rank twice, so bounds and size are sufficient
  return value.first == first && value.last == end - 1 && value.leaves == end - first;
}

std::string Expressions::association(ExpressionId id) const {
  const Node& value = node(id);
  if (value.left < 0) return std::to_string(value.first);
  if (value.right < 0) return association(value.left);
  return "(" + association(value.left) + "+" + association(value.right) + ")";
}

std::string Expressions::describe(ExpressionId id) const {
  return fmt::format("{}{} of chunk {}, tile {}", finished(id) ? "finished " : "", association(id), chunk(id),
                     tile(id));
}

std::string Expressions::formula(ExpressionId id, const FormulaStyle& style) const {
  return formula(id, style, 0);
}

std::string Expressions::formula(ExpressionId id, const FormulaStyle& style, int depth) const {
  const Node& value = node(id);
  if (is_leaf(id)) return fmt::format("x{}", value.first);
  if (value.right >= 0) return fold_formula(id, style, depth);
  const std::string inner = formula(value.left, style, depth);
  const bool is_input = value.leaves == 1;  // of a single rank
  if (value.rounded) return style.roundings && !is_input ? fmt::format("r({})", inner) : inner;
  return style.divisor == 1 ? inner : fmt::format("({}) / {}", inner, style.divisor);
}

std::string Expressions::fold_formula(ExpressionId id, const FormulaStyle& style, int depth) const {
  const Node& value = node(id);
  if (value.leaves > kMaxOperands) {
    if (goes_on_as_it_begins(id)) return endless_formula(id, style);
    if (depth >= kMaxDepth) return group_formula(value);
  }
  const auto nested = [&](ExpressionId operand) {
    const std::string text = formula(operand, style, depth + 1);
    const bool bare = is_leaf(operand) || (node(operand).rounded && style.roundings);
    return bare ? text : "(" + text + ")";
  };
  return fmt::format("{} + {}", nested(value.left), nested(value.right));
}

/// The first three operands and the last one.
std::string Expressions::endless_formula(ExpressionId fold, const FormulaStyle& style) const {
  ExpressionId third = fold;
  while (node(third).leaves > 3) third = unrounded(node(third).left);
  const bool rounds = style.roundings && node(node(fold).left).rounded;
  return fmt::format("{}({}) + ... + x{}", rounds ? "r" : "", fold_formula(third, style, 0),
                     node(node(fold).right).first);
}

std::string Expressions::group_formula(const Node& group) const {
  if (group.last - group.first + 1 == group.leaves)
    return fmt::format("{{x{} to x{}}}", group.first, group.last);
  return fmt::format("{{{} of x{} to x{}}}", group.leaves, group.first, group.last);
}

/// Whether the fold adds one operand at a time, always the next rank's, and rounds either every partial sum
/// or none.
bool Expressions::goes_on_as_it_begins(ExpressionId fold) const {
  const bool rounded = node(node(fold).left).rounded;
  int next = -1;
  for (ExpressionId at = fold; !is_leaf(at); at = unrounded(node(at).left)) {
    const Node& value = node(at);
    if (value.right < 0 || !is_leaf(value.right)) return false;
    if (!is_leaf(value.left) && node(value.left).rounded != rounded) return false;
    if (next >= 0 && (node(value.right).first + 1) % nranks_ != next) return false;
    next = node(value.right).first;
    if (is_leaf(value.left) && (node(value.left).first + 1) % nranks_ != next) return false;
  }
  return true;
}

}  // namespace rondo
