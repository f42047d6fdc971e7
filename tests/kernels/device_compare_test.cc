// SPDX-License-Identifier: Apache-2.0
// The device's comparison, compiled for the host: it counts differing elements, with any number of threads.
#include <array>
#include <cstring>
#include <vector>

#include "catch.h"
#include "compare.h"

namespace rondo {
namespace {

constexpr size_t kElements = 1000;

struct Width {
  uint32_t part_bytes;
  uint32_t parts;
};
constexpr std::array kWidths = {Width{1, 1}, Width{2, 1}, Width{4, 1}, Width{8, 1}, Width{4, 2}, Width{8, 2}};

using Memory = std::vector<uint64_t>;  // aligned for every part

uint64_t count_different(const Memory& found, const Memory& expected, const Width& width, bool zeros_alike,
                         uint64_t threads) {
  uint64_t different = 0;
  const device::Comparison task{.found = found.data(),
                                .expected = expected.data(),
                                .count = kElements,
                                .part_bytes = width.part_bytes,
                                .parts = width.parts,
                                .zeros_alike = zeros_alike ? 1u : 0u,
                                .different = &different};
  for (uint64_t thread = 0; thread < threads; ++thread) device::compare(task, thread, threads);
  return different;
}

Memory filled(const Width& width, unsigned char byte) {
  Memory memory(kElements * width.parts * width.part_bytes / sizeof(uint64_t) + 1);
  std::memset(memory.data(), byte, memory.size() * sizeof(uint64_t));
  return memory;
}

unsigned char& byte_of(Memory& memory, size_t byte) {
  return reinterpret_cast<unsigned char*>(memory.data())[byte];
}

}  // namespace

TEST_CASE("Elements that differ are counted once, whichever of their bytes differ") {
  for (const Width& width : kWidths)
    for (const uint64_t threads : {1u, 7u, 2000u}) {
      CAPTURE(width.part_bytes, width.parts, threads);
      const size_t bytes = width.parts * width.part_bytes;
      Memory found = filled(width, 0x31);
      const Memory expected = found;
      REQUIRE(count_different(found, expected, width, false, threads) == 0);
      byte_of(found, 0) ^= 1;                         // first byte of the first element
      byte_of(found, kElements * bytes - 1) ^= 0x80;  // last byte of the last element
      for (size_t byte = 0; byte < bytes; ++byte) byte_of(found, 500 * bytes + byte) ^= 4;
      byte_of(found, kElements * bytes) ^= 1;  // beyond the end
      REQUIRE(count_different(found, expected, width, false, threads) == 3);
      REQUIRE(count_different(found, expected, width, true, threads) == 3);
    }
}

TEST_CASE("Zeros of either sign compare equal on request, separately in each part") {
  for (const Width& width : kWidths) {
    CAPTURE(width.part_bytes, width.parts);
    const Memory zeros = filled(width, 0);
    Memory found = zeros;
    byte_of(found, width.part_bytes - 1) = 0x80;                    // -0 in the first part
    byte_of(found, width.parts * width.part_bytes * 2 - 1) = 0x80;  // and in the last of the second
    REQUIRE(count_different(found, zeros, width, true, 3) == 0);
    REQUIRE(count_different(found, zeros, width, false, 3) == 2);
    if (width.parts == 2) {
      byte_of(found, width.part_bytes) = 1;  // the other part is not zero
      REQUIRE(count_different(found, zeros, width, true, 3) == 1);
    }
    if (width.part_bytes > 1) {
      byte_of(found, 0) = 1;  // no longer -0
      REQUIRE(count_different(found, zeros, width, true, 3) == 1);
    }
  }
}

}  // namespace rondo
