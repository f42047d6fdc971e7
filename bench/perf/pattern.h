// SPDX-License-Identifier: Apache-2.0
// The contents of buffers: long sequences of elements generated from small tables, so that filling and
// checking run at memory speed although no two ranges of a buffer are alike. Built by the rank that uses
// them, then read-only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "types.h"

namespace rondo::perf {

/// Element i of a sequence is table[(start(i / kPeriod) + i % kPeriod) % kPeriod], where start() hashes the
/// block number and `salt`. All ranks use the same salt, so their elements at an index belong together.
class Pattern {
 public:
  static constexpr size_t kPeriod = 1021;  // prime, so no chunk is a multiple of it by chance

  /// `table` holds kPeriod elements.
  Pattern(const TypeRow& type, std::vector<std::byte> table);

  void fill(void* out, size_t first, size_t count, uint64_t salt) const;

  /// Returns how many elements differ. `exact`: compares bits; otherwise +0 equals -0.
  size_t count_wrong(const void* got, size_t first, size_t count, uint64_t salt, bool exact) const;

 private:
  template <typename Visit>
  void runs(size_t first, size_t count, uint64_t salt, Visit visit) const;

  const TypeRow* type_;
  std::vector<std::byte> twice_;  // the table twice, so that a run never wraps
};

/// Arbitrary bits (bool: 0 and 1), for collectives that only move data. Depends only on type, rank and seed.
Pattern moved_pattern(const TypeRow& type, int rank, uint64_t seed);

/// The input of one rank to a reduction over `nranks`.
Pattern input_pattern(const TypeRow& type, Op op, int nranks, int rank, uint64_t seed);

/// The reduction of the inputs of ranks first to last.
Pattern expected_pattern(const TypeRow& type, Op op, int nranks, int first, int last, uint64_t seed);

}  // namespace rondo::perf
