// Selector: which algorithm carries a call, and in chunks of what size. Every rank decides alike, from what
// every rank knows. Used by the thread that uses the communicator.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "algorithms/algorithm.h"
#include "comm/call.h"

namespace rondo {

/// What a message costs on the slowest transport between the communicator's ranks; for choosing, not for
/// promising.
struct LinkCost {
  double latency_us = 1;
  double us_per_byte = 2e-4;
  double us_per_message = 0;      // of the time of the rank that sends or receives it
  double us_per_folded_byte = 0;  // of the time of the rank that adds it; 0: us_per_byte holds that as well
  double one_way = 1;  // of us_per_byte and us_per_message: where a rank does not send and receive at once
  double ranks_per_cpu = 1;     // where all but the latency is work of CPUs that ranks share
  double us_per_cold_byte = 0;  // more, of a byte that does not come from the caches
  double cached_bytes = 0;      // of the vectors of all ranks; what is beyond is cold
  bool runs_ahead = false;      // what is sent is kept for peers that do not wait for it yet
};

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

/// A plan that some more depends on.
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
  std::vector<Candidate> candidates(const Call& call, int nranks, const LinkCost& cost,
                                    size_t slot_bytes) const;
  /// Unsupported where no algorithm can do it, with the reason.
  Result<Decision> select(const Call& call, int nranks, const LinkCost& cost, size_t slot_bytes,
                          const ExchangeTerms& exchange) const;

 private:
  static constexpr uint64_t kReproducible = 0x7265;

  bool keeps_bits(const Algorithm& row, const Call& call) const;
  std::string_view obstacle(const Algorithm& row, const Call& call, const Shape& shape) const;
  Status refuse(const Algorithm& forced, const Call& call, const Shape& shape) const;
  const Algorithm* exchanged(const Call& call, const Shape& shape, const ExchangeTerms& exchange) const;
  Result<const Algorithm*> choose(const Call& call, const Shape& shape, const LinkCost& cost,
                                  size_t slot_bytes) const;

  std::map<CollectiveKind, const Algorithm*> forced_;
  bool reproducible_ = false;
};

}  // namespace rondo
