// Whether a call did what it should: fills the buffers with known data, and counts what is wrong after the
// call. Owns the tables that the data comes from, for one type and operation; used by the rank's thread.
#pragma once

#include <map>
#include <tuple>

#include "layout.h"
#include "pattern.h"

namespace rondo::perf {

class Checker {
 public:
  Checker(const Type& type, Op op, bool reduces, int nranks, uint64_t seed);

  /// Puts a rank's contribution where `layout` says; each `round` gives other data.
  void fill(const Layout& layout, std::byte* send, uint64_t round);

  /// What a piece, at `out`, has to hold.
  void write(const Piece& piece, std::byte* out, uint64_t round);

  /// Elements that are not as `pieces` say.
  size_t count_wrong(const std::vector<Piece>& pieces, const std::byte* buffer, uint64_t round);

  const Type& type() const { return *type_; }
  /// Whether elements must agree in their bits; otherwise +0 and -0 are alike.
  bool exact() const;

 private:
  const Pattern& pattern(const Piece& piece);
  uint64_t salt(uint64_t round) const;

  const Type* type_;
  Op op_;
  bool reduces_;
  int nranks_;
  uint64_t seed_;
  std::map<std::tuple<Piece::From, int, int>, Pattern> patterns_;
};

}  // namespace rondo::perf
