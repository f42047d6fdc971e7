// SPDX-License-Identifier: Apache-2.0
// Expressions as text.
#include "expressions.h"

namespace rondo {
namespace {

// With more operands than this, only the bounds are printed: of a sum that continues regularly, and of a
// group that is deeper in a tree.
constexpr int kMaxOperands = 8;
constexpr int kMaxDepth = 2;

}  // namespace

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
