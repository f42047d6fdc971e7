// SPDX-License-Identifier: Apache-2.0
#include "pattern.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "floats.h"
#include "random.h"
#include "values.h"

namespace rondo::perf {
namespace {

bool is_zero(const TypeRow& type, const std::byte* element) {
  const size_t parts = type.kind == TypeClass::Complex ? 2 : 1;
  const size_t bytes = type.bytes / parts;
  for (size_t part = 0; part < parts; ++part) {
    uint64_t bits = 0;
    std::memcpy(&bits, element + part * bytes, bytes);
    if (decode_float(type.format, bits) != 0) return false;
  }
  return true;
}

// Equal except for the sign of zeros. Complex numbers are compared part by part.
bool same_number(const TypeRow& type, const std::byte* a, const std::byte* b) {
  if (std::memcmp(a, b, type.bytes) == 0) return true;
  if (type.kind == TypeClass::Float) return is_zero(type, a) && is_zero(type, b);
  if (type.kind != TypeClass::Complex) return false;
  TypeRow half = type;
  half.kind = TypeClass::Float;
  half.bytes /= 2;
  return same_number(half, a, b) && same_number(half, a + half.bytes, b + half.bytes);
}

template <typename MakeValue>
Pattern from_values(const TypeRow& type, MakeValue make) {
  std::vector<std::byte> table(Pattern::kPeriod * type.bytes);
  for (size_t i = 0; i < Pattern::kPeriod; ++i) store(type, make(i), table.data() + i * type.bytes);
  return Pattern(type, std::move(table));
}

uint64_t element_seed(const TypeRow& type, Op op, uint64_t seed, size_t index) {
  const auto which = static_cast<uint64_t>(type.id) * 64 + static_cast<uint64_t>(op);
  return mix(mix(seed, which), index);
}

}  // namespace

Pattern::Pattern(const TypeRow& type, std::vector<std::byte> table) : type_(&type), twice_(std::move(table)) {
  twice_.resize(2 * kPeriod * type.bytes);
  std::copy_n(twice_.begin(), kPeriod * type.bytes,
              twice_.begin() + static_cast<ptrdiff_t>(kPeriod * type.bytes));
}

// Calls visit(run in the table, elements done so far, elements of the run) for each contiguous run in order.
template <typename Visit>
void Pattern::runs(size_t first, size_t count, uint64_t salt, Visit visit) const {
  for (size_t done = 0; done < count;) {
    const size_t block = (first + done) / kPeriod;
    const size_t offset = (first + done) % kPeriod;
    const size_t length = std::min(count - done, kPeriod - offset);
    const size_t start = mix(salt, block) % kPeriod;
    visit(twice_.data() + (start + offset) % kPeriod * type_->bytes, done, length);
    done += length;
  }
}

void Pattern::fill(void* out, size_t first, size_t count, uint64_t salt) const {
  auto* bytes = static_cast<std::byte*>(out);
  runs(first, count, salt, [&](const std::byte* run, size_t done, size_t length) {
    std::memcpy(bytes + done * type_->bytes, run, length * type_->bytes);
  });
}

size_t Pattern::count_wrong(const void* got, size_t first, size_t count, uint64_t salt, bool exact) const {
  const auto* bytes = static_cast<const std::byte*>(got);
  size_t wrong = 0;
  runs(first, count, salt, [&](const std::byte* run, size_t done, size_t length) {
    const std::byte* at = bytes + done * type_->bytes;
    if (std::memcmp(at, run, length * type_->bytes) == 0) return;
    for (size_t i = 0; i < length; ++i) {
      const size_t offset = i * type_->bytes;
      const bool same = exact ? std::memcmp(at + offset, run + offset, type_->bytes) == 0
                              : same_number(*type_, at + offset, run + offset);
      wrong += same ? 0 : 1;
    }
  });
  return wrong;
}

Pattern moved_pattern(const TypeRow& type, int rank, uint64_t seed) {
  Random random(mix(mix(seed, static_cast<uint64_t>(type.id)), static_cast<uint64_t>(rank)));
  std::vector<std::byte> table(Pattern::kPeriod * type.bytes);
  for (std::byte& byte : table)
    byte = static_cast<std::byte>(random.next() & (type.kind == TypeClass::Bool ? 1 : 255));
  return Pattern(type, std::move(table));
}

Pattern input_pattern(const TypeRow& type, Op op, int nranks, int rank, uint64_t seed) {
  return from_values(type, [&](size_t i) {
    return input_values(type, op, nranks, element_seed(type, op, seed, i))[static_cast<size_t>(rank)];
  });
}

Pattern expected_pattern(const TypeRow& type, Op op, int nranks, int first, int last, uint64_t seed) {
  return from_values(type, [&](size_t i) {
    const std::vector<Value> inputs = input_values(type, op, nranks, element_seed(type, op, seed, i));
    return expected_value(type, op, inputs, first, last, nranks);
  });
}

}  // namespace rondo::perf
