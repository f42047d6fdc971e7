// SPDX-License-Identifier: Apache-2.0
// Filling and checking buffers: filled data passes, and one wrong element counts as one.
#include "catch.h"
#include "check.h"
#include "pattern.h"
#include "poison.h"

namespace {

using namespace rondo::perf;

constexpr size_t kElements = 5000;  // several periods of the pattern

std::vector<std::byte> filled(const Pattern& pattern, const TypeRow& type, size_t first, size_t count,
                              uint64_t salt) {
  std::vector<std::byte> bytes(count * type.bytes);
  pattern.fill(bytes.data(), first, count, salt);
  return bytes;
}

}  // namespace

TEST_CASE("A part of the sequence is the same from wherever it is filled") {
  for (const TypeRow& type : all_types()) {
    const Pattern pattern = moved_pattern(type, 1, 9);
    const auto whole = filled(pattern, type, 0, kElements, 4);
    const auto part = filled(pattern, type, 1500, 2000, 4);
    CAPTURE(type.name);
    REQUIRE(std::equal(part.begin(), part.end(), whole.begin() + static_cast<ptrdiff_t>(1500 * type.bytes)));
    REQUIRE(pattern.count_wrong(whole.data(), 0, kElements, 4, true) == 0);
    REQUIRE(pattern.count_wrong(part.data(), 1500, 2000, 4, true) == 0);
  }
}

TEST_CASE("Each changed element is counted once") {
  for (const TypeRow& type : all_types()) {
    const Pattern pattern = moved_pattern(type, 1, 9);
    auto bytes = filled(pattern, type, 0, kElements, 4);
    for (const size_t element : {size_t{0}, size_t{1020}, size_t{1021}, kElements - 1})
      bytes[element * type.bytes] ^= std::byte{0x10};
    CAPTURE(type.name);
    REQUIRE(pattern.count_wrong(bytes.data(), 0, kElements, 4, true) == 4);
  }
}

TEST_CASE("Data of another rank, round or position does not pass") {
  const TypeRow& type = *type_by_name("float");
  const Pattern pattern = moved_pattern(type, 1, 9);
  const auto mostly_wrong = [&](const std::vector<std::byte>& bytes) {
    return pattern.count_wrong(bytes.data(), 0, kElements, 4, true) > kElements / 2;
  };
  REQUIRE(mostly_wrong(filled(moved_pattern(type, 2, 9), type, 0, kElements, 4)));
  REQUIRE(mostly_wrong(filled(pattern, type, 0, kElements, 5)));
  for (const size_t shift : {size_t{1}, size_t{1021}, size_t{1024}, size_t{2042}, size_t{4096}}) {
    CAPTURE(shift);
    REQUIRE(mostly_wrong(filled(pattern, type, shift, kElements, 4)));
  }
}

TEST_CASE("Zeros may differ in sign only if allowed") {
  const TypeRow& type = *type_by_name("float");
  const Pattern zeros(type, std::vector<std::byte>(Pattern::kPeriod * type.bytes));
  std::vector<float> got(kElements, -0.0f);
  REQUIRE(zeros.count_wrong(got.data(), 0, kElements, 0, false) == 0);
  REQUIRE(zeros.count_wrong(got.data(), 0, kElements, 0, true) == kElements);
  got[7] = 1e-30f;
  REQUIRE(zeros.count_wrong(got.data(), 0, kElements, 0, false) == 1);
}

TEST_CASE("The checker finds missing and excess writes of a call") {
  const TypeRow& type = *type_by_name("int32");
  const DataLayout layout = make_layout({Collective::Reduce, 4, 2, 0, 100, false});  // not the root
  Checker checker(type, Op::Sum, true, 4, 1);
  std::vector<std::byte> recv(100 * type.bytes, kPoison), send(100 * type.bytes);
  checker.fill(layout, send.data(), 0);
  REQUIRE(checker.count_wrong(layout.send, send.data(), 0) == 0);
  REQUIRE(checker.count_wrong(layout.expect, recv.data(), 0) == 0);  // nothing may be written there
  REQUIRE(checker.count_wrong(layout.expect_in_place, send.data(), 0) == 0);
  recv[399] = std::byte{0};
  REQUIRE(checker.count_wrong(layout.expect, recv.data(), 0) == 1);
  const DataLayout root = make_layout({Collective::Reduce, 4, 0, 0, 100, false});
  REQUIRE(checker.count_wrong(root.expect, recv.data(), 0) == 100);
}
