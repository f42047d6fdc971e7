// SPDX-License-Identifier: Apache-2.0
// Selector: chooses the executor and the algorithm of a call. All ranks choose the same, from what all ranks
// know. Used by the thread that uses the communicator.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "plan/executor.h"
#include "plan/rules.h"
#include "synthesis/found_plans.h"

namespace rondo {

/// An algorithm on an executor, as the Selector sees it.
struct Candidate {
  const Executor* executor = nullptr;
  const Algorithm* algorithm = nullptr;  // null: the executor's own plan, or no plan because of an obstacle
  Prediction prediction = {};            // its obstacle: why the candidate is ruled out; empty: it is not
};

class Selector {
 public:
  /// `text`: as Rules::parse() reads it. `reproducible`: the bits of a reduction depend only on the number of
  /// ranks, the type and the operation.
  static Result<Selector> parse(std::string_view text, bool reproducible = false);

  /// The communicator's own algorithms, which are candidates if they are requested, or an executor proposes
  /// them.
  void use(std::shared_ptr<FoundPlans> plans) { found_plans_ = std::move(plans); }
  const std::shared_ptr<FoundPlans>& found_plans() const { return found_plans_; }

  /// What was requested, as far as it applies to the call: nothing for the runtime's own calls, and nothing
  /// if the requested executor is for the other kind of memory.
  ForcedChoice forced(const Call& call, int nranks) const;
  bool reproducible() const { return reproducible_; }
  /// A plan's hash as ranks compare it: it differs if the ranks disagree on reproducible mode.
  uint64_t marked(uint64_t hash) const;
  /// What the choice is made from: the executors in order, each with its algorithms in table order, or with
  /// the obstacle that keeps it from taking the call.
  Result<std::vector<Candidate>> candidates(const Call& call, const Shape& shape,
                                            std::span<const Executor> executors) const;
  /// Among the candidates of the first executor that has any, or of those that compete, the one with the
  /// lowest predicted time, the first of equals. Unsupported, with the reason, if there is none.
  Result<Candidate> select(const Call& call, const Shape& shape, std::span<const Executor> executors) const;

 private:
  /// The rows that the call may be made by, besides those that the request rules out.
  Result<std::vector<const Algorithm*>> rows(const ForcedChoice& forced, CollectiveKind kind) const;
  bool keeps_bits(const Algorithm& row, const Call& call) const;
  std::string_view obstacle(const ForcedChoice& forced, const Algorithm& row, const Call& call,
                            const Shape& shape) const;
  std::string_view obstacle(const ForcedChoice& forced, const Executor& executor, const Call& call,
                            const Shape& shape) const;
  void add_candidates(const ForcedChoice& forced, std::span<const Algorithm* const> rows,
                      const Executor& executor, const Call& call, const Shape& shape,
                      std::vector<Candidate>& made) const;
  Candidate candidate(const ForcedChoice& forced, const Executor& executor, const Algorithm& row,
                      const Call& call, const Shape& shape) const;
  Status refuse(const ForcedChoice& forced, std::span<const Algorithm* const> rows, const Call& call,
                const Shape& shape, std::span<const Candidate> candidates) const;

  Rules rules_;
  bool reproducible_ = false;
  std::shared_ptr<FoundPlans> found_plans_;
};

/// A candidate as RONDO_ALGORITHM names it: "ring@connections".
std::string name_of(const Candidate& candidate);

/// The algorithm of a call, and several lines of text about why it was chosen.
struct Choice {
  const Algorithm* algorithm = nullptr;
  std::string text;
};

/// Why a call is carried out the way it is, what its predicted time consists of, and in which order it
/// combines the ranks' operands: of a call on host memory that is not a _v form. Unsupported, with the
/// reason, if the call cannot be made. Any thread.
Result<Choice> explain(const Selector& selector, const Call& call, const Shape& shape,
                       std::span<const Executor> executors);

}  // namespace rondo
