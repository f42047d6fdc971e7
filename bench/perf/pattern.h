// The contents of buffers: long sequences of elements made from small tables, so that filling and checking
// run at memory speed and yet no two stretches of a buffer look alike. Built by the rank that uses them; then
// read only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "types.h"

namespace rondo::perf {

/// Element i of a sequence is table[(start(i / kPeriod) + i % kPeriod) % kPeriod], where start() hashes the
/// number of the block and `salt`. Ranks use one salt, so that what they have at one index belongs together.
class Pattern {
 public:
  static constexpr size_t kPeriod = 1021;  // a prime: no chunk is a multiple of it by chance

  /// `table` holds kPeriod elements.
  Pattern(const Type& type, std::vector<std::byte> table);

  void fill(void* out, size_t first, size_t count, uint64_t salt) const;

  /// How many of the elements differ. `exact`: in their bits; otherwise +0 and -0 are alike.
  size_t count_wrong(const void* got, size_t first, size_t count, uint64_t salt, bool exact) const;

 private:
  template <typename Visit>
  void runs(size_t first, size_t count, uint64_t salt, Visit visit) const;

  const Type* type_;
  std::vector<std::byte> twice_;  // the table, and again: a run never wraps
};

/// Any bits at all (bool: 0 and 1): what a collective that only moves data must carry. The same for a rank
/// and seed.
Pattern moved_pattern(const Type& type, int rank, uint64_t seed);

/// The input of one rank to a reduction over `nranks`.
Pattern input_pattern(const Type& type, Op op, int nranks, int rank, uint64_t seed);

/// The reduction of the inputs of ranks first to last.
Pattern expected_pattern(const Type& type, Op op, int nranks, int first, int last, uint64_t seed);

}  // namespace rondo::perf
