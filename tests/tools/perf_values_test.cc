// SPDX-License-Identifier: Apache-2.0
// The claim behind "#wrong": whatever the order and grouping in which ranks' inputs are combined, and on
// whichever rank, the result has exactly the bits that the benchmark expects.
#include <algorithm>
#include <cstring>
#include <random>

#include "catch.h"
#include "kernels/reduce.h"
#include "seed.h"
#include "values.h"

namespace {

using namespace rondo::perf;
using Element = std::vector<std::byte>;

Element bytes_of(const TypeRow& type, const Value& value) {
  Element element(type.bytes);
  store(type, value, element.data());
  return element;
}

rondo::ReduceArgs pair_args(const TypeRow& type, Op op) {
  rondo::ReduceArgs args;
  args.count = 1;
  args.type = static_cast<rondo::ElementType>(type.id);
  args.op = op == Op::MulSum ? rondo::Reduction::Sum : static_cast<rondo::Reduction>(op);
  return args;
}

// Combines neighbours, or any two if the order is free, until one is left; rounds every result to the type.
Element combined(const TypeRow& type, Op op, std::vector<Element> parts, bool any_order,
                 std::mt19937_64& random) {
  while (parts.size() > 1) {
    if (any_order) std::shuffle(parts.begin(), parts.end(), random);
    const size_t left = random() % (parts.size() - 1);
    Element out(type.bytes);
    const void* const sources[] = {parts[left].data(), parts[left + 1].data()};
    rondo::ReduceArgs args = pair_args(type, op);
    args.out = out.data();
    args.sources = sources;
    rondo::reduce(args);
    parts[left] = out;
    parts.erase(parts.begin() + static_cast<ptrdiff_t>(left) + 1);
  }
  return parts[0];
}

// The effect on a single source: scaled before a pre-multiplied sum, divided after an average.
Element alone(const TypeRow& type, Op op, const Element& element, const Value* scalar, int divisor) {
  Element out(type.bytes), factor(type.bytes);
  const void* const sources[] = {element.data()};
  rondo::ReduceArgs args = pair_args(type, op);
  args.out = out.data();
  args.sources = sources;
  args.divisor = divisor;
  if (scalar != nullptr) {
    factor = bytes_of(type, *scalar);
    args.scalar = factor.data();
    args.scaled_source = 0;
  }
  rondo::reduce(args);
  return out;
}

std::vector<Element> ranks_parts(const TypeRow& type, Op op, const std::vector<Value>& inputs, int last) {
  std::vector<Element> parts;
  for (int rank = 0; rank <= last; ++rank) {
    const Element element = bytes_of(type, inputs[static_cast<size_t>(rank)]);
    const Value scalar = scalar_value(type, rank);
    parts.push_back(op == Op::MulSum ? alone(type, op, element, &scalar, 1) : element);
  }
  return parts;
}

// Zeros may differ in sign, except for min and max.
bool same(const TypeRow& type, Op op, const Element& a, const Element& b) {
  if (a == b) return true;
  const bool floats = type.kind == TypeClass::Float || type.kind == TypeClass::Complex;
  if (!floats || op == Op::Min || op == Op::Max) return false;
  const size_t part = type.kind == TypeClass::Complex ? type.bytes / 2 : type.bytes;
  for (size_t at = 0; at < type.bytes; at += part) {
    const bool equal = std::memcmp(&a[at], &b[at], part) == 0;
    // Little-endian: the sign is the highest bit of the last byte.
    const auto is_zero = [&](const Element& e) {
      Element magnitude(e.begin() + static_cast<ptrdiff_t>(at),
                        e.begin() + static_cast<ptrdiff_t>(at + part));
      magnitude.back() &= std::byte{0x7f};
      return std::all_of(magnitude.begin(), magnitude.end(),
                         [](std::byte byte) { return byte == std::byte{0}; });
    };
    if (!equal && !(is_zero(a) && is_zero(b))) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("Every grouping and order of the inputs gives the expected bits") {
  std::mt19937_64 random(rondo::test::test_seed(20240607));
  for (const TypeRow& type : all_types()) {
    for (const OpInfo& info : all_ops()) {
      if (!op_takes(info.op, type)) continue;
      for (const int nranks : {1, 2, 3, 4, 7, 8, 16, 33, 128}) {
        for (uint64_t seed = 0; seed < 12; ++seed) {
          const auto inputs = input_values(type, info.op, nranks, seed);
          CAPTURE(type.name, info.name, nranks, seed);
          Element got = combined(type, info.op, ranks_parts(type, info.op, inputs, nranks - 1), true, random);
          if (info.op == Op::Avg) got = alone(type, info.op, got, nullptr, nranks);
          const auto expected = expected_value(type, info.op, inputs, 0, nranks - 1, nranks);
          REQUIRE(same(type, info.op, got, bytes_of(type, expected)));
        }
      }
    }
  }
}

TEST_CASE("Prefixes of the inputs are exact as well") {
  std::mt19937_64 random(rondo::test::test_seed(7));
  for (const TypeRow& type : all_types()) {
    for (const OpInfo& info : all_ops()) {
      if (!op_takes(info.op, type) || info.op == Op::Avg) continue;
      constexpr int nranks = 9;
      for (int last = 0; last < nranks; ++last) {
        const auto inputs = input_values(type, info.op, nranks, 100 + static_cast<uint64_t>(last));
        CAPTURE(type.name, info.name, last);
        const Element got = combined(type, info.op, ranks_parts(type, info.op, inputs, last), false, random);
        REQUIRE(
            same(type, info.op, got, bytes_of(type, expected_value(type, info.op, inputs, 0, last, nranks))));
      }
    }
  }
}

TEST_CASE("A missing or duplicate contribution of any rank shows in some element") {
  constexpr int nranks = 8;
  constexpr uint64_t elements = 400;
  for (const TypeRow& type : all_types()) {
    for (const OpInfo& info : all_ops()) {
      if (!op_takes(info.op, type)) continue;
      for (int victim = 0; victim < nranks; ++victim) {
        size_t missing_shows = 0;
        for (uint64_t seed = 0; seed < elements; ++seed) {
          auto inputs = input_values(type, info.op, nranks, seed);
          const auto right = bytes_of(type, expected_value(type, info.op, inputs, 0, nranks - 1, nranks));
          std::swap(inputs[static_cast<size_t>(victim)], inputs.back());  // leave the victim out
          const Value without =
              expected_value(type, info.op == Op::MulSum ? Op::Sum : info.op, inputs, 0, nranks - 2, nranks);
          missing_shows += bytes_of(type, without) != right ? 1 : 0;
        }
        CAPTURE(type.name, info.name, victim);
        REQUIRE(missing_shows > 0);
      }
    }
  }
}
