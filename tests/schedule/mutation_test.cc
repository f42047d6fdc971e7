// SPDX-License-Identifier: Apache-2.0
// Breaks schedules deliberately and checks that the verifier notices. Mutants that it accepts must be
// harmless: a concrete run with random numbers, lengths and interleavings must then get all results right.
#include <cstdio>
#include <map>
#include <mutex>

#include "catch.h"
#include "concrete_run.h"
#include "mutations.h"
#include "parallel.h"
#include "sanitized.h"
#include "schedule/verifier.h"
#include "shapes.h"

using namespace rondo;

namespace {

struct Tally {
  long caught = 0;
  long harmless = 0;
  std::vector<std::string> missed;
};

bool verifies(const Shape& shape, const std::vector<Schedule>& ranks) {
  return verify(shape, ranks, {.slots = 1, .in_place = false}).ok() &&
         verify(shape, ranks, {.slots = 1, .in_place = true}).ok();
}

bool runs_right_everywhere(const Shape& shape, const std::vector<Schedule>& ranks) {
  for (uint64_t seed = 1; seed <= 6; ++seed)
    if (!runs_right(shape, ranks, {.slots = seed <= 4 ? 1 : 3, .in_place = seed % 2 == 0, .seed = seed}))
      return false;
  return true;
}

void try_mutants(const Algorithm& algorithm, const Shape& shape, std::mutex& mutex,
                 std::map<std::string, Tally>& tallies) {
  const auto ranks = build_all(algorithm, shape);
  std::map<std::string, Tally> mine;
  for_each_mutant(ranks, [&](const Mutant& mutant) {
    Tally& tally = mine[mutant.kind];
    if (!verifies(shape, mutant.ranks))
      ++tally.caught;
    else if (runs_right_everywhere(shape, mutant.ranks))
      ++tally.harmless;
    else
      tally.missed.push_back(name_of(algorithm) + ", " + to_string(shape) + ": " + mutant.where);
  });
  std::lock_guard lock(mutex);
  for (auto& [kind, tally] : mine) {
    Tally& all = tallies[kind];
    all.caught += tally.caught;
    all.harmless += tally.harmless;
    all.missed.insert(all.missed.end(), tally.missed.begin(), tally.missed.end());
  }
}

}  // namespace

TEST_CASE("the verifier catches deliberately broken schedules") {
  struct Job {
    const Algorithm* algorithm;
    Shape shape;
  };
  std::vector<int> numbers = {2, 3};
  if (!kSanitized) numbers.insert(numbers.end(), {4, 5});
  if (!brief()) numbers.push_back(8);
  std::vector<Job> jobs;
  for (const Algorithm& algorithm : algorithms())
    for (int n : numbers)
      for (const Shape& shape : supported_shapes(algorithm, n))
        if (n <= 5 || shape.root == n - 1 || !has_root(shape.kind)) jobs.push_back({&algorithm, shape});
  std::mutex mutex;
  std::map<std::string, Tally> tallies;
  parallel_for(jobs.size(),
               [&](size_t i) { try_mutants(*jobs[i].algorithm, jobs[i].shape, mutex, tallies); });
  long mutants = 0;
  long caught = 0;
  for (const auto& [kind, tally] : tallies) {
    const long missed = static_cast<long>(tally.missed.size());
    std::printf("%-30s caught %6ld  harmless %5ld  missed %ld\n", kind.c_str(), tally.caught, tally.harmless,
                missed);
    mutants += tally.caught + tally.harmless + missed;
    caught += tally.caught;
    INFO(kind << ", such as " << (missed ? tally.missed.front() : ""));
    CHECK(missed == 0);
    CHECK(tally.caught > 0);
  }
  std::printf("%ld mutants of %zu collectives, %ld caught\n", mutants, jobs.size(), caught);
  CHECK(caught > 9 * (mutants / 10));
}

TEST_CASE("schedules that the verifier accepts also compute the right numbers") {
  for (const Algorithm& algorithm : algorithms())
    for (int n : {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 16}) {
      if (kSanitized && n > 9) continue;
      for (const Shape& shape : supported_shapes(algorithm, n)) {
        const auto ranks = build_all(algorithm, shape);
        for (bool in_place : {false, true}) {
          const uint64_t seed = static_cast<uint64_t>(n) * 2 + in_place;
          INFO(name_of(algorithm) << ", " << to_string(shape) << ", seed " << seed
                                  << (in_place ? ", in place" : ""));
          CHECK(runs_right(shape, ranks, {.slots = 1, .in_place = in_place, .seed = seed}));
        }
      }
    }
}
