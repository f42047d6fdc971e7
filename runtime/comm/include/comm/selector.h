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
};

struct Decision {
  const Algorithm* algorithm = nullptr;
  size_t tile_units = 1;  // the longest chunk, in the call's unit_bytes()
  uint64_t plan = 0;      // for Signature: equal where ranks decided alike
};

class Selector {
 public:
  /// `text`: "all_reduce=ring;broadcast=chain", or empty; InvalidArgument names what is wrong in it.
  static Result<Selector> parse(const std::string& text);

  /// Unsupported where no algorithm can do it, with the reason.
  /// Whether an algorithm was asked for.
  bool forces(CollectiveKind kind) const { return forced_.contains(kind); }
  Result<Decision> select(const Call& call, int nranks, const LinkCost& cost, size_t slot_bytes) const;

 private:
  Result<const Algorithm*> choose(const Call& call, const Shape& shape, const LinkCost& cost,
                                  size_t slot_bytes) const;
  std::map<CollectiveKind, const Algorithm*> forced_;
};

}  // namespace rondo
