// SPDX-License-Identifier: Apache-2.0
// stream_copy() on every instruction set of this CPU equals memcpy() and writes nowhere else.
#include "kernels/stream_copy.h"

#include <algorithm>
#include <random>
#include <vector>

#include "catch.h"
#include "kernels/vector_target.h"
#include "seed.h"

namespace rondo {
namespace {

constexpr std::byte kGuard{0xa5};

void copy_and_compare(size_t bytes, size_t to_offset, size_t from_offset, std::mt19937_64& random) {
  CAPTURE(bytes, to_offset, from_offset);
  std::vector<std::byte> from(from_offset + bytes);
  for (std::byte& byte : from) byte = static_cast<std::byte>(random());
  std::vector<std::byte> to(to_offset + bytes + 64, kGuard);
  std::vector<std::byte> expected = to;
  std::copy_n(from.data() + from_offset, bytes, expected.data() + to_offset);
  stream_copy(to.data() + to_offset, from.data() + from_offset, bytes);
  REQUIRE(to == expected);
}

TEST_CASE("copies that bypass the caches are complete, whatever the alignment") {
  for (const std::string& target : vector_targets()) {
    CAPTURE(target);
    REQUIRE(use_vector_target(target));
    std::mt19937_64 random(test::test_seed(7));
    for (size_t bytes = 0; bytes <= 300; ++bytes)
      copy_and_compare(bytes, random() % 130, random() % 130, random);
    for (const size_t bytes : {4095u, 4096u, 70'001u}) copy_and_compare(bytes, random() % 64, 0, random);
  }
  REQUIRE(use_vector_target(""));
}

}  // namespace
}  // namespace rondo
