// SPDX-License-Identifier: Apache-2.0
#include "seed.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define CATCH_CONFIG_EXTERNAL_INTERFACES  // Catch2, version 2: the base class of listeners
#include "catch.h"

namespace rondo::test {
namespace {

uint64_t read_seed() {
  const char* const text = std::getenv("RONDO_TEST_SEED");
  if (text == nullptr) return 0;
  uint64_t seed = 0;
  const char* const end = text + std::strlen(text);
  const auto [at, fault] = std::from_chars(text, end, seed);
  if (fault == std::errc() && at == end && text != end) return seed;
  std::fprintf(stderr, "RONDO_TEST_SEED is '%s': it must be a whole number\n", text);
  std::exit(2);
}

uint64_t own_seed() {
  static const uint64_t seed = read_seed();
  return seed;
}

#if __has_include(<catch2/catch_all.hpp>)
using Listener = Catch::EventListenerBase;
#else
using Listener = Catch::TestEventListenerBase;
#endif

class SeedListener final : public Listener {
 public:
  using Listener::Listener;
  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (stats.totals.assertions.failed != 0)
      std::printf("random cases were drawn with RONDO_TEST_SEED=%llu\n",
                  static_cast<unsigned long long>(own_seed()));
  }
};

CATCH_REGISTER_LISTENER(SeedListener)

}  // namespace

uint64_t test_seed(uint64_t usual) { return usual + own_seed() * 1'000'003; }

}  // namespace rondo::test
