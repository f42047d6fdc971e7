// SPDX-License-Identifier: Apache-2.0
// The 16-bit fields of a Step. Any thread.
#pragma once

#include <cstdint>

namespace rondo {

/// `value` as a Step holds it. Builders get only shapes that their supports() accepts: a value out of range
/// is a bug in the builder, and aborts.
uint16_t narrow(int value);

}  // namespace rondo
