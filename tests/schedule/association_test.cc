// SPDX-License-Identifier: Apache-2.0
// The order in which algorithms combine operands, and where they round: the basis of reproducible mode. The
// all_algorithms test proves that algorithms conform to their rows; this one, that rows claim all they can.
#include <algorithm>
#include <bit>

#include "base/reduction.h"

#include "catch.h"
#include "schedule/verifier.h"
#include "shapes.h"
#include "type_rows.h"

using namespace rondo;

namespace {

constexpr int kMaxRanks = 9;

bool has(const Algorithm& algorithm, const Shape& shape, Association association) {
  return verify(shape, build_all(algorithm, shape), {.association = association}).ok();
}

/// Whether all results of the algorithm have that association, for every shape.
bool always_has(const Algorithm& algorithm, Association association) {
  for (int n = 1; n <= kMaxRanks; ++n)
    for (const Shape& shape : supported_shapes(algorithm, n))
      if (!has(algorithm, shape, association)) return false;
  return true;
}

std::vector<Formula> formulas_of(CollectiveKind kind, const char* name, int nranks,
                                 const FormulaStyle& style = {}) {
  const Shape shape{kind, nranks};
  return formulas(shape, build_all(*algorithm_by_name(kind, name).value(), shape), style);
}

std::string formula_of(CollectiveKind kind, const char* name, int nranks, size_t which = 0,
                       const FormulaStyle& style = {}) {
  return formulas_of(kind, name, nranks, style).at(which).text;
}

/// Rank 1 folds rank 0's operand with its own, and rank 2 folds that result with its own.
std::vector<Schedule> chain_of_three(const Shape& shape, const std::vector<int>& last_fold) {
  std::vector<Schedule> ranks;
  for (int rank = 0; rank < 3; ++rank) ranks.emplace_back(shape, rank);
  ranks[0].add({.src = input(0), .send = {1}});
  ranks[1].add({.recv = {0, 1}, .src = input(0), .send = {2}});
  ranks[2].add({.recv = last_fold, .src = input(0), .dst = output(0), .finish = true});
  return ranks;
}

CallType type_of(ElementType type) { return CallType::of(type); }

}  // namespace

TEST_CASE("a row claims the strongest association that its results have") {
  for (const Algorithm& algorithm : algorithms()) {
    if (!reduces(algorithm.kind)) continue;
    INFO(name_of(algorithm) << ": " << association_name(algorithm.association));
    CHECK(always_has(algorithm, algorithm.association));
    if (algorithm.association == Association::Any) CHECK_FALSE(always_has(algorithm, Association::RankOrder));
    if (algorithm.association != Association::OneFold)
      CHECK_FALSE(always_has(algorithm, Association::OneFold));
  }
}

TEST_CASE("every reduction of any shape has an algorithm that does it in one fold") {
  for (const CollectiveKind kind : kAllCollectives)
    for (int n = 1; reduces(kind) && n <= 64; ++n)
      for (const bool commutative : {true, false}) {
        const Shape shape{kind, n, n / 2, false, commutative};
        INFO(to_string(shape));
        REQUIRE(std::any_of(algorithms().begin(), algorithms().end(), [&](const Algorithm& row) {
          return row.kind == shape.kind && row.association == Association::OneFold && row.supports(shape);
        }));
      }
}

TEST_CASE("an intermediate rounding is not a single fold, and another order is not rank order") {
  const Shape shape{CollectiveKind::Reduce, 3, 2};
  const auto refusal = [&](const std::vector<int>& last_fold, Association association) {
    return verify(shape, chain_of_three(shape, last_fold), {.tiles = 1, .association = association})
        .message();
  };
  CHECK(refusal({1, 2}, Association::RankOrder).empty());
  CHECK(refusal({1, 2}, Association::OneFold) ==
        "output[0] of rank 2, tile 0 is r(r(x0 + x1) + x2); it should be combined in one fold");
  CHECK(refusal({2, 1}, Association::Any).empty());
  CHECK(refusal({2, 1}, Association::RankOrder) ==
        "output[0] of rank 2, tile 0 is r(x2 + r(x0 + x1)); it should be combined in rank order");
}

TEST_CASE("an average that is divided after rounding is rounded twice") {
  const Shape shape{CollectiveKind::Reduce, 2, 0};
  std::vector<Schedule> ranks{{shape, 0}, {shape, 1}};
  ranks[0].add({.recv = {0, 1}, .src = input(0), .dst = output(0)});
  ranks[0].add({.src = output(0), .dst = output(0), .finish = true});
  ranks[1].add({.src = input(0), .send = {0}});
  CHECK(verify(shape, ranks, {.association = Association::RankOrder}).ok());
  CHECK_FALSE(verify(shape, ranks, {.association = Association::OneFold}).ok());
  CHECK(formulas(shape, ranks, {.divisor = 2}).at(0).text == "r((r(x0 + x1)) / 2)");
}

TEST_CASE("formulas show order and roundings, and abbreviate long terms to their bounds") {
  using enum CollectiveKind;
  CHECK(formula_of(AllReduce, "one_shot", 1) == "x0");
  CHECK(formula_of(AllReduce, "one_shot", 4) == "r(((x0 + x1) + x2) + x3)");
  CHECK(formula_of(AllReduce, "one_shot", 4, 0, {.roundings = false}) == "((x0 + x1) + x2) + x3");
  CHECK(formula_of(AllReduce, "one_shot", 3, 0, {.divisor = 3}) == "r(((x0 + x1) + x2) / 3)");
  CHECK(formula_of(AllReduce, "one_shot", 64) == "r(((x0 + x1) + x2) + ... + x63)");
  CHECK(formula_of(AllReduce, "ring", 4, 1) == "r(r(r(x2 + x3) + x0) + x1)");
  CHECK(formula_of(AllReduce, "ring", 64, 1) == "r(r(r(x2 + x3) + x4) + ... + x1)");
  CHECK(formula_of(AllReduce, "recursive_doubling", 4, 0, {.roundings = false}) == "(x0 + x1) + (x2 + x3)");
  CHECK(formula_of(AllReduce, "recursive_doubling", 64).find("{x0 to x") != std::string::npos);
  CHECK(formula_of(AllReduce, "recursive_doubling", 64).size() < 300);
  const auto scanned = formulas_of(Exscan, "chain", 4);
  REQUIRE(scanned.size() == 3);
  CHECK(scanned[0].rank == 1);
  CHECK(scanned[2].text == "r(r(x0 + x1) + x2)");
}

TEST_CASE("operands of an all_reduce are rounded as often as docs/algorithms.md says") {
  const auto most = [](const char* name, int n, const FormulaStyle& style) {
    int roundings = 0;
    for (const Formula& one : formulas_of(CollectiveKind::AllReduce, name, n, style))
      roundings = std::max(roundings, one.roundings);
    return roundings;
  };
  for (int n = 1; n <= 33; ++n) {
    CAPTURE(n);
    const int log_up = std::bit_width(static_cast<unsigned>(n - 1)),
              log = std::bit_width(static_cast<unsigned>(n)) - 1;
    const FormulaStyle small{.roundings = true}, wide{.roundings = false};
    for (const char* one_fold : {"one_shot", "two_shot", "parameter_server"}) {
      CHECK(most(one_fold, n, wide) == n - 1);
      CHECK(most(one_fold, n, small) == (n > 1 ? 1 : 0));
    }
    CHECK(most("ring", n, wide) == n - 1);
    CHECK(most("ring", n, small) == n - 1);
    CHECK(most("recursive_doubling", n, wide) == log_up);
    CHECK(most("recursive_doubling", n, small) == log_up);
    CHECK(most("halving_doubling", n, wide) >= log_up);
    CHECK(most("halving_doubling", n, wide) <= std::max(log_up, 2 * log));
    CHECK(most("halving_doubling", n, small) == log_up);
    CHECK(most("double_binary_tree", n, wide) <= 2 * log);
    CHECK(most("double_binary_tree", n, small) == log);
    if (n > 1) CHECK(most("ring", n, {.roundings = false, .divisor = n}) == n);
    if (n > 1) CHECK(most("ring", n, {.roundings = true, .divisor = n}) == n - 1);
  }
}

TEST_CASE("what fixes a reduction's bits depends on its type and operation") {
  const auto needed = [](ElementType type, Reduction op) {
    return association_that_fixes_bits(type_of(type), CallOp::of(op));
  };
  CHECK(needed(ElementType::Int32, Reduction::Sum) == Association::Any);
  CHECK(needed(ElementType::Int8, Reduction::Avg) == Association::Any);
  CHECK(needed(ElementType::Bool, Reduction::Sum) == Association::Any);
  CHECK(needed(ElementType::BFloat16, Reduction::Max) == Association::Any);
  CHECK(needed(ElementType::Float32, Reduction::Sum) == Association::RankOrder);
  CHECK(needed(ElementType::Float64, Reduction::Avg) == Association::RankOrder);
  CHECK(needed(ElementType::Complex64, Reduction::Prod) == Association::RankOrder);
  for (size_t type = 0; type < test::kTypeRows.size(); ++type)
    if (test::kTypeRows[type].is_small_float())
      CHECK(needed(static_cast<ElementType>(type), Reduction::Prod) == Association::OneFold);
  CallOp own = CallOp::of(Reduction::Min);
  own.function = [](void*, const void*, size_t, int, void*) {};
  CHECK(association_that_fixes_bits({.id = 99, .bytes = 24}, own) == Association::RankOrder);
}
