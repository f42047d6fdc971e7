// Selector: which algorithm carries a call, and in chunks of what size. Every rank decides alike, from what
// every rank knows. Used by the thread that uses the communicator.
#pragma once

#include <map>
#include <string>

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

class Selector {
 public:
  /// `text`: "all_reduce=ring;broadcast=chain", or empty; InvalidArgument names what is wrong in it.
  static Result<Selector> parse(const std::string& text);

  /// Whether an algorithm was asked for.
  bool forces(CollectiveKind kind) const { return forced_.contains(kind); }
  /// Unsupported where no algorithm can do it, with the reason. A call whose vector has at most
  /// `exchange_bytes` is exchanged, if its algorithm has one round; 0: none is.
  Result<Decision> select(const Call& call, int nranks, const LinkCost& cost, size_t slot_bytes,
                          size_t exchange_bytes) const;

 private:
  const Algorithm* exchanged(const Call& call, const Shape& shape, size_t exchange_bytes) const;
  Result<const Algorithm*> choose(const Call& call, const Shape& shape, const LinkCost& cost,
                                  size_t slot_bytes) const;
  std::map<CollectiveKind, const Algorithm*> forced_;
};

}  // namespace rondo
