// SPDX-License-Identifier: Apache-2.0
// Expressions: the contents of memory in a symbolic run. A value is some rank's input chunk, a fold of two
// values, a finished value, or a value rounded to the type. Equal values share one id (hash-consing), and
// each value knows which ranks have contributed to it. Owned by one run of the verifier, on its thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/reduction.h"
#include "base/status.h"
#include "schedule/verifier.h"

namespace rondo {

using ExpressionId = int32_t;

class Expressions {
 public:
  explicit Expressions(int nranks, bool commutative)
      : nranks_(nranks), words_(static_cast<size_t>(nranks + 63) / 64), commutative_(commutative) {}

  /// Rank `rank`'s input[chunk] of a tile.
  ExpressionId leaf(int rank, int tile, int chunk);
  /// left (op) right; an error if that cannot be part of a correct result.
  Result<ExpressionId> fold(ExpressionId left, ExpressionId right);
  /// The value after the final step; an error if ranks are missing or it is finished already.
  Result<ExpressionId> finish(ExpressionId value);
  /// The value rounded to the type, as memory and messages hold it; inputs and rounded values are unchanged.
  ExpressionId round(ExpressionId value);

  bool finished(ExpressionId id) const { return node(id).finished; }
  int tile(ExpressionId id) const { return node(id).tile; }
  /// The lowest rank, and the chunk, which is the same for all leaves.
  int first_rank(ExpressionId id) const { return node(id).first; }
  int chunk(ExpressionId id) const { return node(id).chunk; }
  /// Whether exactly the ranks [first, end) have contributed.
  bool holds_exactly(ExpressionId id, int first, int end) const;
  /// Whether its operands are combined with that association.
  bool has(Association association, ExpressionId id) const;

  /// "((0+1)+2)".
  std::string association(ExpressionId id) const;
  /// "((0+1)+2) of chunk 3, tile 0".
  std::string describe(ExpressionId id) const;
  /// As described at Formula.
  std::string formula(ExpressionId id, const FormulaStyle& style = {}) const;
  /// By id: Formula::roundings.
  std::vector<int> roundings(const FormulaStyle& style) const;

 private:
  struct Node {
    ExpressionId left = -1;   // -1: a leaf
    ExpressionId right = -1;  // -1 with a left: `left`, finished or rounded
    int tile = 0;
    int chunk = 0;
    int first = 0;  // lowest and highest rank
    int last = 0;
    int leaves = 1;
    bool finished = false;
    bool rounded = false;
  };

  const Node& node(ExpressionId id) const { return nodes_[static_cast<size_t>(id)]; }
  bool is_leaf(ExpressionId id) const { return node(id).left < 0; }
  ExpressionId append(const Node& made);
  ExpressionId change(ExpressionId value, ExpressionId how, const Node& changed);
  ExpressionId unrounded(ExpressionId id) const;
  std::string formula(ExpressionId id, const FormulaStyle& style, int depth) const;
  std::string fold_formula(ExpressionId id, const FormulaStyle& style, int depth) const;
  std::string endless_formula(ExpressionId fold, const FormulaStyle& style) const;
  std::string group_formula(const Node& group) const;
  bool goes_on_as_it_begins(ExpressionId fold) const;
  Status foldable(const Node& left, const Node& right) const;
  int shared_rank(ExpressionId left, ExpressionId right) const;

  int nranks_;
  size_t words_;
  bool commutative_;
  std::vector<Node> nodes_;
  std::vector<uint64_t> ranks_;  // words_ per node: one bit for each rank that has contributed
  std::unordered_map<uint64_t, ExpressionId> folds_;
  std::unordered_map<uint64_t, ExpressionId> leaves_;
};

}  // namespace rondo
