// SPDX-License-Identifier: Apache-2.0
// Checker verifies a call: fills the buffers with known data and counts wrong elements after the call. Owns
// the tables that the data come from, for one type and operation; used by the rank's thread.
#pragma once

#include <map>
#include <tuple>

#include "layout.h"
#include "pattern.h"

namespace rondo::perf {

class Checker {
 public:
  Checker(const TypeRow& type, Op op, bool reduces, int nranks, uint64_t seed);

  /// Writes a rank's contribution as `layout` specifies; each `round` has different data.
  void fill(const DataLayout& layout, std::byte* send, uint64_t round);

  /// Writes the expected contents of a piece to `out`.
  void write(const DataPiece& piece, std::byte* out, uint64_t round);

  /// Returns the number of elements that differ from `pieces`.
  size_t count_wrong(const std::vector<DataPiece>& pieces, const std::byte* buffer, uint64_t round);

  const TypeRow& type() const { return *type_; }
  /// Whether elements must be bitwise equal; otherwise +0 equals -0.
  bool exact() const;

 private:
  const Pattern& pattern(const DataPiece& piece);
  uint64_t salt(uint64_t round) const;

  const TypeRow* type_;
  Op op_;
  bool reduces_;
  int nranks_;
  uint64_t seed_;
  std::map<std::tuple<DataPiece::From, int, int>, Pattern> patterns_;
};

}  // namespace rondo::perf
