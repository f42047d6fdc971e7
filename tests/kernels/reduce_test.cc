// SPDX-License-Identifier: Apache-2.0
// reduce() on every instruction set of this CPU gives the bits of reduce_reference().
#include "kernels/reduce.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "catch.h"
#include "comparison.h"
#include "kernels/small_float.h"
#include "seed.h"

namespace rondo {
namespace {

constexpr uint64_t kSeed = 20240611;

void require_equal(const ComparedCall& call, std::mt19937_64& random) {
  const auto fault = compare(call, random);
  if (fault) FAIL(*fault);
}

void try_shapes(ElementType type, Reduction op, std::mt19937_64& random) {
  static constexpr size_t kCounts[] = {0,  1,  2,  3,  5,  7,   8,   11,  13,  16, 17,
                                       31, 32, 61, 64, 67, 127, 128, 131, 257, 509};
  for (const size_t count : kCounts) {
    for (int sources = 1; sources <= 9; ++sources) {
      const int aliased = static_cast<int>(random() % static_cast<uint64_t>(sources + 1)) - 1;
      require_equal({.type = type, .op = op, .count = count, .sources = sources, .aliased = aliased}, random);
    }
  }
}

void try_extensions(ElementType type, Reduction op, std::mt19937_64& random) {
  for (const int divisor : {1, 2, 3, 7, 8, 127, 128, 255, 1000, 65536, 0x7FFFFFFF}) {
    for (int sources = 1; sources <= 4; ++sources) {
      for (int scaled = -1; scaled < sources; ++scaled) {
        const size_t count = random() % 200;
        const int aliased = static_cast<int>(random() % static_cast<uint64_t>(sources + 1)) - 1;
        require_equal({.type = type,
                       .op = op,
                       .count = count,
                       .sources = sources,
                       .aliased = aliased,
                       .divisor = divisor,
                       .scaled = scaled},
                      random);
      }
    }
  }
}

// Memory followed by an inaccessible page.
class PageEnd {
 public:
  PageEnd() : page_(static_cast<size_t>(sysconf(_SC_PAGESIZE))) {
    memory_ = mmap(nullptr, 2 * page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED || mprotect(end(), page_, PROT_NONE) != 0) FAIL("mmap or mprotect failed");
  }
  PageEnd(const PageEnd&) = delete;
  PageEnd& operator=(const PageEnd&) = delete;
  ~PageEnd() { munmap(memory_, 2 * page_); }
  uint8_t* end() const { return static_cast<uint8_t*>(memory_) + page_; }

 private:
  size_t page_;
  void* memory_ = nullptr;
};

// Runs the call by both, out of place, and compares the results.
void require_same(ReduceArgs args) {
  const size_t bytes = args.count * element_info(args.type).bytes;
  Bytes fast(bytes), reference(bytes);
  args.out = reference.data();
  reduce_reference(args);
  args.out = fast.data();
  reduce(args);
  REQUIRE(std::memcmp(fast.data(), reference.data(), bytes) == 0);
}

}  // namespace

TEST_CASE("every type and operation equals the reference at every size, number of sources and alignment") {
  on_every_target([](const std::string& target) {
    std::mt19937_64 random(test::test_seed(kSeed));
    CAPTURE(target, kSeed);
    for (const ElementType type : all_types()) {
      for (const Reduction op : reductions_of(type)) try_shapes(type, op, random);
    }
  });
}

TEST_CASE("scaled sources and divisors equal the reference") {
  on_every_target([](const std::string& target) {
    std::mt19937_64 random(test::test_seed(kSeed + 1));
    CAPTURE(target, kSeed);
    for (const ElementType type : all_types()) {
      for (const Reduction op : {Reduction::Sum, Reduction::Avg, Reduction::Prod}) {
        if (reduction_takes(op, type)) try_extensions(type, op, random);
      }
    }
  });
}

TEST_CASE("long buffers equal the reference") {
  std::mt19937_64 random(test::test_seed(kSeed + 2));
  CAPTURE(kSeed);
  for (const ElementType type : all_types()) {
    for (const Reduction op : reductions_of(type)) {
      require_equal({.type = type, .op = op, .count = 20011, .sources = 2, .aliased = 0}, random);
      require_equal({.type = type, .op = op, .count = 20011, .sources = 3}, random);
    }
  }
}

TEST_CASE("nothing is read past the end of a source") {
  const PageEnd first, second;
  std::mt19937_64 random(test::test_seed(kSeed + 3));
  on_every_target([&](const std::string& target) {
    CAPTURE(target);
    for (const ElementType type : all_types()) {
      for (size_t count = 1; count < 40; ++count) {
        const size_t bytes = count * element_info(type).bytes;
        fill_samples({first.end() - bytes, bytes}, type, random);
        fill_samples({second.end() - bytes, bytes}, type, random);
        const void* sources[] = {first.end() - bytes, second.end() - bytes};
        for (const Reduction op : reductions_of(type)) {
          require_same({.sources = sources, .count = count, .type = type, .op = op});
        }
      }
    }
  });
}

TEST_CASE("all pairs of float8 codes equal the reference") {
  Bytes left(65536), right(65536);
  for (size_t i = 0; i < left.size(); ++i) {
    left[i] = static_cast<uint8_t>(i >> 8);
    right[i] = static_cast<uint8_t>(i);
  }
  const void* sources[] = {left.data(), right.data()};
  on_every_target([&](const std::string& target) {
    CAPTURE(target);
    for (const ElementType type : {ElementType::Float8E4M3, ElementType::Float8E5M2}) {
      for (const Reduction op : reductions_of(type)) {
        require_same({.sources = sources, .count = 65536, .type = type, .op = op});
      }
    }
  });
}

TEST_CASE("all codes of 16-bit floats survive a product with one") {
  std::vector<uint16_t> codes(65536);
  for (size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<uint16_t>(i);
  const void* sources[] = {codes.data()};
  const Float16 half_one = round_to<Float16>(1);
  const BFloat16 brain_one = round_to<BFloat16>(1);
  on_every_target([&](const std::string& target) {
    CAPTURE(target);
    ReduceArgs args{.sources = sources, .count = 65536, .scaled_source = 0};
    args.type = ElementType::Float16;
    args.scalar = &half_one;
    require_same(args);
    args.type = ElementType::BFloat16;
    args.scalar = &brain_one;
    require_same(args);
  });
}

TEST_CASE("averages of integers divide toward zero like the reference for all small integers") {
  std::array<uint8_t, 256> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i);
  std::vector<uint16_t> words(65536);
  for (size_t i = 0; i < words.size(); ++i) words[i] = static_cast<uint16_t>(i);
  const void* byte_source[] = {bytes.data()};
  const void* word_source[] = {words.data()};
  on_every_target([&](const std::string& target) {
    for (int divisor = 2; divisor < 300; ++divisor) {
      CAPTURE(target, divisor);
      for (const ElementType type : {ElementType::Int8, ElementType::UInt8}) {
        require_same(
            {.sources = byte_source, .count = 256, .type = type, .op = Reduction::Avg, .divisor = divisor});
      }
    }
    for (const int divisor : {2, 3, 5, 7, 9, 13, 255, 256, 257, 32767, 32768, 65535, 65536, 16777217}) {
      CAPTURE(target, divisor);
      for (const ElementType type : {ElementType::Int16, ElementType::UInt16}) {
        require_same(
            {.sources = word_source, .count = 65536, .type = type, .op = Reduction::Avg, .divisor = divisor});
      }
    }
  });
}

TEST_CASE("a lone source is copied bit by bit, including NaNs and bools") {
  const uint8_t truths[] = {0, 1, 2, 255};
  uint8_t out[4] = {};
  const void* sources[] = {truths};
  reduce({.out = out, .sources = sources, .count = 4, .type = ElementType::Bool, .op = Reduction::LogicalOr});
  REQUIRE(std::memcmp(out, truths, 4) == 0);
  const uint32_t signalling = 0xFF800001;
  uint32_t copied = 0;
  const void* source[] = {&signalling};
  reduce({.out = &copied, .sources = source, .count = 1, .type = ElementType::Float32});
  REQUIRE(copied == signalling);
}

TEST_CASE("only instruction sets of this CPU can be chosen") {
  const auto names = vector_targets();
  REQUIRE_FALSE(names.empty());
  REQUIRE_FALSE(use_vector_target("NO_SUCH_TARGET"));
  REQUIRE(use_vector_target(names.back()));
  REQUIRE(vector_targets() == names);
  REQUIRE(use_vector_target(""));
}

}  // namespace rondo
