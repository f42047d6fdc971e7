// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "poison.h"
#include "random.h"

namespace rondo::perf {

Checker::Checker(const TypeRow& type, Op op, bool reduces, int nranks, uint64_t seed)
    : type_(&type), op_(op), reduces_(reduces), nranks_(nranks), seed_(seed) {}

uint64_t Checker::salt(uint64_t round) const { return mix(seed_, round); }

const Pattern& Checker::pattern(const DataPiece& piece) {
  const auto key = std::tuple(piece.from, piece.first, piece.last);
  if (const auto found = patterns_.find(key); found != patterns_.end()) return found->second;
  Pattern made = !reduces_ ? moved_pattern(*type_, piece.first, seed_)
                 : piece.from == DataPiece::From::Input
                     ? input_pattern(*type_, op_, nranks_, piece.first, seed_)
                     : expected_pattern(*type_, op_, nranks_, piece.first, piece.last, seed_);
  return patterns_.emplace(key, std::move(made)).first->second;
}

void Checker::fill(const DataLayout& layout, std::byte* send, uint64_t round) {
  for (const DataPiece& piece : layout.send) write(piece, send + piece.offset * type_->bytes, round);
}

void Checker::write(const DataPiece& piece, std::byte* out, uint64_t round) {
  if (piece.from == DataPiece::From::Untouched)
    std::fill_n(out, piece.count * type_->bytes, kPoison);
  else
    pattern(piece).fill(out, piece.index, piece.count, salt(round));
}

// The sign of a zero depends on the order of the operands only if terms can cancel.
bool Checker::exact() const { return !reduces_ || op_ == Op::Min || op_ == Op::Max; }

size_t Checker::count_wrong(const std::vector<DataPiece>& pieces, const std::byte* buffer, uint64_t round) {
  size_t wrong = 0;
  for (const DataPiece& piece : pieces) {
    const std::byte* at = buffer + piece.offset * type_->bytes;
    wrong += piece.from == DataPiece::From::Untouched
                 ? count_touched(at, piece.count, type_->bytes)
                 : pattern(piece).count_wrong(at, piece.index, piece.count, salt(round), exact());
  }
  return wrong;
}

}  // namespace rondo::perf
