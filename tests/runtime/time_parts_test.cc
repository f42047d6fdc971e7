// SPDX-License-Identifier: Apache-2.0
// What a predicted time is said to consist of: it adds up to the time that the choice is made by.
#include <numeric>
#include <random>
#include <string>

#include "catch.h"
#include "plan/connection_costs.h"
#include "plan/pull_costs.h"
#include "seed.h"

using namespace rondo;

namespace {

using Random = std::mt19937_64;

/// Between 10^low and 10^high, or now and then 0.
double any(Random& random, double low, double high) {
  if (random() % 8 == 0) return 0;
  return std::pow(10, std::uniform_real_distribution<double>(low, high)(random));
}

LinkCost random_link(Random& random) {
  return {.latency_us = any(random, -2, 2),
          .us_per_byte = std::pow(10, std::uniform_real_distribution<double>(-5, -3)(random)),
          .us_per_message = any(random, -2, 1),
          .us_per_folded_byte = any(random, -6, -4),
          .one_way = random() % 2 == 0 ? 1 : 0.5,
          .ranks_per_cpu = static_cast<double>(1 + random() % 4),
          .us_per_cold_byte = any(random, -5, -3),
          .cached_bytes = any(random, 4, 7),
          .us_per_evicted_byte = any(random, -5, -3),
          .slot_cache_bytes = any(random, 4, 7),
          .runs_ahead = random() % 2 == 0};
}

Call call_of(CollectiveKind kind, size_t count) {
  Call call;
  call.kind = kind;
  call.type = CallType::of(ElementType::Float32);
  call.op = CallOp::of(Reduction::Sum);
  call.count = kind == CollectiveKind::Barrier ? 0 : count;
  return call;
}

double sum_us(const std::vector<TimePart>& parts) {
  return std::accumulate(parts.begin(), parts.end(), 0.0,
                         [](double sum, const TimePart& part) { return sum + part.seconds; }) *
         1e6;
}

TEST_CASE("the parts of a predicted time over connections add up to it, for every algorithm") {
  Random random(test::test_seed(20));
  int levels = 0;
  for (int i = 0; i < 40; ++i) {
    const int nranks = 1 << (random() % 6);
    LinkModel links{.nranks = nranks, .cost = random_link(random)};
    for (int group = 2; group < nranks && random() % 2 == 0; group *= 2) {
      links.levels.add(group);
      links.inner_costs.push_back(random_link(random));
    }
    levels = std::max(levels, links.levels.count());
    const Executor row = connections_row(links, size_t{64} << (random() % 13));
    for (const Algorithm& algorithm : algorithms()) {
      const Call call = call_of(algorithm.kind, random() % (size_t{1} << (random() % 24)));
      const Shape shape = links.shape(call);
      const double us = row.predict(algorithm, call, shape).us;
      const std::vector<TimePart> parts = row.parts(algorithm, call, shape);
      INFO(algorithm.name << ", " << nranks << " ranks, " << call.count << " elements");
      if (!std::isfinite(us))
        CHECK(parts.empty());
      else
        CHECK(sum_us(parts) == Approx(us).epsilon(1e-9).margin(1e-12));
    }
  }
  CHECK(levels > 1);
}

TEST_CASE("the parts of a predicted time in memory that all ranks see add up to it") {
  Random random(test::test_seed(21));
  for (int i = 0; i < 40; ++i) {
    const int nranks = 2 + static_cast<int>(random() % 15);
    const Executor row =
        shm_pull_row({.requested_bytes = {},
                      .cost = pull_cost(CostTable(), nranks, static_cast<double>(1 + random() % 4))});
    for (const Algorithm& algorithm : algorithms()) {
      const Call call = call_of(algorithm.kind, random() % 1000);
      const Shape shape = call.shape(nranks);
      const double us = row.predict(algorithm, call, shape).us;
      INFO(algorithm.name << ", " << nranks << " ranks, " << call.count << " elements");
      if (std::isfinite(us)) CHECK(sum_us(row.parts(algorithm, call, shape)) == Approx(us).epsilon(1e-9));
    }
  }
}

TEST_CASE("a ring's parts are the textbook's") {
  const LinkModel links{
      .nranks = 4,
      .cost = {.latency_us = 2, .us_per_byte = 1e-3, .us_per_message = 0.5, .us_per_folded_byte = 1e-4}};
  const Executor row = connections_row(links, size_t{1} << 20);
  const Algorithm& ring = *algorithm_by_name(CollectiveKind::AllReduce, "ring").value();
  const Call call = call_of(CollectiveKind::AllReduce, size_t{1} << 18);
  const std::string text = parts_text(row.parts(ring, call, links.shape(call)), 1);
  const auto has = [&](const char* what, const char* how) {
    INFO(text);
    CHECK(text.find(fmt::format("  {:<13} {} ", what, how)) != std::string::npos);
  };
  has("rounds", "6 x 2 us");
  has("messages", "6 x 0.5 us");
  has("bytes", "1.50 MiB at 1 GB/s");
  has("folds", "768 KiB at 10 GB/s");
  CHECK(text.find("cache misses") == std::string::npos);
}

}  // namespace
