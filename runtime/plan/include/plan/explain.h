// SPDX-License-Identifier: Apache-2.0
// Explanation: why a call is carried out the way it is, and in which order it combines the ranks' operands,
// for human readers. Pure function: any thread.
#pragma once

#include <string>

#include "plan/selector.h"

namespace rondo {

/// Several lines of text about a call on host memory that is not a _v form. Unsupported, with the reason, if
/// the call cannot be made.
Result<std::string> explain(const Selector& selector, const Call& call, const Shape& shape,
                            std::span<const Executor> executors);

}  // namespace rondo
