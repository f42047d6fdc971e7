// SPDX-License-Identifier: Apache-2.0
// Plans and topologies of plan.hpp.
#include <rondo/plan.hpp>

#include <string>
#include <utility>
#include <vector>

#include "folder.h"
#include "ranks.h"

// Members of templates are compiled only if something uses them.
template class rondo::BasicTopology<rondo::Throwing>;
template class rondo::BasicTopology<rondo::Returning>;
template class rondo::BasicPlan<rondo::Throwing>;
template class rondo::BasicPlan<rondo::Returning>;
template class rondo::BasicPlanRun<rondo::Throwing>;
template class rondo::BasicPlanRun<rondo::Returning>;

namespace rondo::test {
namespace {

TEST_CASE("a plan over levels follows weights, one for each rank of a group") {
  const auto steps = [](std::vector<int> weights) {
    const PlanCall call{.ranks = 6, .group = 3, .weights = std::move(weights)};
    return Plan::named(call, "hierarchical_ring").steps(0, 0).size();
  };
  CHECK(steps({}) == steps({1, 1, 1}));
  const auto refused = nothrow::Plan::named({.ranks = 6, .group = 3, .weights = {1, 2}}, "hierarchical_ring");
  REQUIRE(!refused);
  CHECK(refused.error().code() == Code::invalid_argument);
  CHECK(std::string(refused.error().what()).find("2 weights: there must be one for each of the 3") !=
        std::string::npos);
  CHECK_THROWS_AS(steps({1, 0, 1}), Error);
}

TEST_CASE("a plan of the table is read, proved, simulated, written and read again") {
  const Plan plan = Plan::named({.ranks = 3}, "ring");
  const rondo_plan_info_t info = plan.info();
  CHECK(
      (info.name == std::string("ring") && info.collective == std::string("all_reduce") && info.ranks == 3));
  const rondo_plan_rank_t rank = plan.rank(2);
  CHECK((rank.lanes == 1 && plan.steps(2, 0).size() == static_cast<size_t>(rank.steps)));
  CHECK(plan.proof().verifies == 1);
  const PlanRun run = plan.simulate({.bytes = 3e6, .bandwidth = 10.0});
  const rondo_plan_time_t time = run.time();
  CHECK(
      (time.seconds > 4e-4 && time.messages == 12));  // each of 3 ranks sends 4 messages, of 1 MB at 10 GB/s
  CHECK(run.message(11).bytes == 1e6);
  CHECK(run.explain().find("GB/s") != std::string::npos);

  const Folder folder;
  const std::string path = folder / "ring.xml";
  plan.write(path);
  CHECK(Plan::read(path).info().ranks == 3);
}

TEST_CASE("a plan follows the links of a machine") {
  const Topology machine = Topology::named("dgx-1v");
  const Plan plan = Plan::found({.collective = "all_gather", .ranks = 8}, "forest", machine);
  CHECK(plan.simulate({.topology = machine.get()}).time().limit > 100.0);
  CHECK(Topology::detect());
}

TEST_CASE("a plan that cannot be made is an error, thrown or returned") {
  require_error(Code::invalid_argument, {"one_hand"}, [] { static_cast<void>(Plan::named({}, "one_hand")); });
  require_error(Code::invalid_argument, {"toaster"}, [] { static_cast<void>(Topology::named("toaster")); });
  require_error(Code::system_error, {"no.xml"}, [] { static_cast<void>(Plan::read("no.xml")); });
  const auto refused = nothrow::Plan::named({.ranks = 0}, "ring");
  CHECK((!refused && refused.error().code() == Code::invalid_argument));
  const auto steps = nothrow::Plan::named({}, "ring")->steps(2, 0);
  CHECK((!steps && std::string(steps.error().what()).find("rank") != std::string::npos));
}

TEST_CASE("plans, runs and topologies move") {
  Plan plan = Plan::named({}, "ring");
  const Plan moved = std::move(plan);
  CHECK((!plan && moved));  // NOLINT(bugprone-use-after-move): what is tested
  require_error(Code::invalid_argument, {"plan"}, [&] { static_cast<void>(plan.info()); });
  PlanRun run = moved.simulate();
  const PlanRun moved_run = std::move(run);
  CHECK((!run && moved_run.time().messages > 0));  // NOLINT(bugprone-use-after-move)
  Topology machine = Topology::named("hgx-h100");
  const Topology moved_machine = std::move(machine);
  CHECK((!machine && moved_machine));  // NOLINT(bugprone-use-after-move)
}

}  // namespace
}  // namespace rondo::test
