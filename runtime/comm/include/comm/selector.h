// Selector: which algorithm carries a call, and in chunks of what size. Every rank decides alike, from what
// every rank knows. Used by the thread that uses the communicator.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.h"
#include "comm/call.h"
#include "comm/links.h"

namespace rondo {

/// For which calls an Exchange is the way to go, and by which of the algorithms that have rounds.
struct ExchangeTerms {
  size_t most_bytes = 0;  // the longest vector; 0: none
  LinkCost cost = {};     // of a round, and of a byte that a rank reads
};

struct Decision {
  const Algorithm* algorithm = nullptr;
  size_t tile_units = 1;   // the longest chunk, in the call's unit_bytes()
  uint64_t plan = 0;       // for Signature: equal where ranks decided alike
  bool exchanged = false;  // by an Exchange, not over connections
};

/// Mixes one more choice into the plan's hash.
uint64_t mix_plan(uint64_t plan, uint64_t value);

/// By that algorithm, in the longest chunks that slots of that size hold; Unsupported where they hold none.
Result<Decision> cut(const Algorithm& algorithm, const Call& call, const Shape& shape, size_t slot_bytes);

/// An algorithm of the call's collective, as the Selector sees it.
struct Candidate {
  const Algorithm* algorithm = nullptr;
  double predicted_us = 0;    // infinite where a slot has no room for an element
  std::string_view obstacle;  // why it is out of the question; empty: it is not
};

class Selector {
 public:
  /// `text`: "all_reduce=ring;broadcast=chain", or empty; InvalidArgument names what is wrong in it.
  /// `reproducible`: the bits of a reduction depend on the number of ranks, the type and the operation alone.
  static Result<Selector> parse(const std::string& text, bool reproducible = false);

  /// Whether an algorithm was asked for.
  bool forces(CollectiveKind kind) const { return forced_.contains(kind); }
  bool reproducible() const { return reproducible_; }
  /// A plan as ranks compare it: it tells those apart that do not agree whether to be reproducible.
  uint64_t marked(uint64_t plan) const { return reproducible_ ? mix_plan(plan, kReproducible) : plan; }
  /// What the choice is made from, in the order of the table. Of equal ones the first is chosen.
  std::vector<Candidate> candidates(const Call& call, const Links& links, size_t slot_bytes) const;
  /// Unsupported where no algorithm can do it, with the reason.
  Result<Decision> select(const Call& call, const Links& links, size_t slot_bytes,
                          const ExchangeTerms& exchange) const;

 private:
  static constexpr uint64_t kReproducible = 0x7265;

  bool keeps_bits(const Algorithm& row, const Call& call) const;
  std::string_view obstacle(const Algorithm& row, const Call& call, const Shape& shape) const;
  Status refuse(const Algorithm& forced, const Call& call, const Shape& shape) const;
  const Algorithm* exchanged(const Call& call, const Shape& shape, const ExchangeTerms& exchange) const;
  Result<const Algorithm*> choose(const Call& call, const Links& links, size_t slot_bytes) const;

  std::map<CollectiveKind, const Algorithm*> forced_;
  bool reproducible_ = false;
};

}  // namespace rondo
