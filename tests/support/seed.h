// SPDX-License-Identifier: Apache-2.0
// The seeds of random tests. RONDO_TEST_SEED=N makes every random test draw other cases, the same each time;
// a program whose random tests fail says which N it ran with.
#pragma once

#include <cstdint>

namespace rondo::test {

/// The seed to use in place of `usual`, which it is unless RONDO_TEST_SEED is set.
uint64_t test_seed(uint64_t usual);

}  // namespace rondo::test
