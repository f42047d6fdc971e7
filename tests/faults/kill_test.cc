// SPDX-License-Identifier: Apache-2.0
// A rank is killed with SIGKILL at a random moment of its life. Every survivor returns correct data or an
// error that names the victim, within a second; nothing hangs and nothing is left behind.
//
// RONDO_FAULT_TRIALS sets the number of kills, RONDO_FAULT_SEED the seed.
#include <signal.h>

#include <cstdio>
#include <cstdlib>
#include <random>

#include "catch.h"
#include "fault_world.h"
#include "sanitized.h"
#include "seed.h"

namespace rondo::test {
namespace {

int number_from(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::atoi(text) : otherwise;
}

/// Ranks that have not met the victim cannot know of its death; the start deadline tells them which rank is
/// missing.
constexpr double kStart_s = 6;
constexpr double kNews_s = 1;

struct Draw {
  FaultOptions options;
  Phase phase;
  long delay_us;
};

Draw draw(std::mt19937& random, bool with_child) {
  const auto up_to = [&](int most) { return static_cast<int>(random() % static_cast<unsigned>(most + 1)); };
  Draw drawn{};
  drawn.options.nranks = 2 + up_to(6);
  drawn.options.transport = up_to(1) == 0 ? "shm" : "tcp";
  if (const char* const transport = std::getenv("RONDO_TEST_TRANSPORT")) drawn.options.transport = transport;
  drawn.options.read_peer = up_to(1) == 0;
  drawn.options.victim = up_to(drawn.options.nranks - 1);
  drawn.options.victim_has_child = with_child;
  drawn.options.calls = drawn.options.transport == "verbs" ? 50 : 300;  // the stand-in's bytes cost more
  drawn.phase = with_child ? Phase::Calling : static_cast<Phase>(up_to(4));
  drawn.delay_us = up_to(drawn.phase == Phase::Finalizing ? 2000 : 15'000);
  return drawn;
}

std::string describe(const Draw& drawn) {
  return "ranks " + std::to_string(drawn.options.nranks) + ", " + drawn.options.transport +
         (drawn.options.read_peer ? " (processes are read)" : "") + ", victim " +
         std::to_string(drawn.options.victim) + ", " + std::to_string(drawn.delay_us) + " us into " +
         kPhaseNames[static_cast<size_t>(drawn.phase)];
}

void judge(const FaultWorld& world, int rank, const Draw& drawn, double killed_s, Phase died_in) {
  const Report& report = world.report(rank);
  INFO("rank " << rank << ", phase " << kPhaseNames[static_cast<size_t>(world.phase(rank))] << ", error '"
               << report.error.data() << "'");
  REQUIRE(report.destroyed);
  REQUIRE_FALSE(report.wrong);
  if (!report.failed) return;
  const std::string victim = "rank " + std::to_string(drawn.options.victim);
  const std::string missing =
      ": " + std::to_string(drawn.options.victim);  // "... did not join within 3 s: 2"
  const std::string error = report.error.data();
  // A rank that arrives after the start has failed finds no peer left that could tell it why.
  const bool root =
      died_in <= Phase::Joining && (error.find("the bootstrap root") != std::string::npos ||
                                    error.find("the process that made the unique id") != std::string::npos ||
                                    error.find("rank 0 was not found within") != std::string::npos);
  const bool names_victim =
      error.find(victim) != std::string::npos || error.find(missing) != std::string::npos;
  REQUIRE((names_victim || root));
  REQUIRE(report.ended_s - killed_s < (died_in <= Phase::Joining ? kStart_s : kNews_s));
}

Phase kill_once(const Draw& drawn) {
  INFO(describe(drawn));
  FaultWorld world(drawn.options);
  const int victim = drawn.options.victim;
  REQUIRE(world.wait_for(victim, drawn.phase, 30));
  sleep_us(drawn.delay_us);
  const Phase died_in = world.phase(victim);
  ::kill(world.pid(victim), SIGKILL);
  const double killed_s = seconds_now();
  const bool all_ended = world.reap_survivors(15);
  for (int rank = 0; rank < drawn.options.nranks; ++rank)
    if (rank != victim) judge(world, rank, drawn, killed_s, died_in);
  REQUIRE(all_ended);
  world.end_victim();
  for (int i = 0; i < 200 && !world.socket_left().empty(); ++i)
    sleep_us(10'000);  // the kernel cleans up after a kill with a delay
  REQUIRE(world.socket_left().empty());
  return died_in;
}

}  // namespace

TEST_CASE("a killed rank is named by every survivor, whenever it dies") {
  const int trials = number_from("RONDO_FAULT_TRIALS", kSanitized ? 20 : 40);
  const auto seed = static_cast<unsigned>(number_from("RONDO_FAULT_SEED", 1));
  std::mt19937 random(test_seed(seed));
  std::array<int, kPhaseNames.size()> histogram{};
  for (int i = 0; i < trials; ++i) {
    INFO("seed " << seed << ", trial " << i);
    ++histogram[static_cast<size_t>(kill_once(draw(random, false)))];
  }
  std::printf("%d kills, seed %u, by the victim's phase:\n", trials, seed);
  for (size_t phase = 0; phase < histogram.size(); ++phase)
    std::printf("  %-11s %4d %s\n", kPhaseNames[phase], histogram[phase],
                std::string(static_cast<size_t>(histogram[phase]), '*').c_str());
}

TEST_CASE("a forked child that outlives its parent does not hide the parent's death") {
  std::mt19937 random(test_seed(7));
  for (int i = 0; i < 4; ++i) kill_once(draw(random, true));
}

}  // namespace rondo::test
