// SPDX-License-Identifier: Apache-2.0
// Binding threads to CPUs, in separate threads so that the test's own thread stays unbound.
#include <sched.h>

#include <thread>

#include "catch.h"
#include "topology/binding.h"

using namespace rondo;

TEST_CASE("a bound thread runs on its CPU and may run nowhere else") {
  const auto before = bound_cpus();
  REQUIRE(before.ok());
  REQUIRE_FALSE(before.value().empty());
  for (int cpu : before.value()) {
    CAPTURE(cpu);
    Status bound;
    std::vector<int> after;
    int running_on = -1;
    std::thread([&] {
      bound = bind_thread(cpu);
      auto cpus = bound_cpus();
      if (cpus.ok()) after = cpus.take();
      running_on = sched_getcpu();
    }).join();
    CHECK(bound.message() == "");
    CHECK(after == std::vector<int>{cpu});
    CHECK(running_on == cpu);
  }
  CHECK(bound_cpus().value() == before.value());
}

TEST_CASE("a missing CPU is an error that names it") {
  CHECK(bind_thread(-1).message().find("-1") != std::string::npos);
  CHECK(bind_thread(60000).message().find("60000") != std::string::npos);
}
