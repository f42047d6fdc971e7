// Explanation: why a call goes the way it does, and in which order it combines the ranks' operands, in words
// for people. Pure function: any thread.
#pragma once

#include <string>

#include "comm/selector.h"

namespace rondo {

/// What the choice depends on besides the call.
struct ExplainTerms {
  Links links;
  size_t slot_bytes = 0;
  ExchangeTerms exchange;
};

/// Of a call on host memory without lengths by rank: lines. Unsupported, with the reason, where it cannot be
/// made.
Result<std::string> explain(const Selector& selector, const Call& call, const ExplainTerms& terms);

}  // namespace rondo
