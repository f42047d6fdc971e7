// SPDX-License-Identifier: Apache-2.0
#include "reports.h"

#include <fmt/format.h>

namespace rondo::planner {
namespace {

std::string on_what(rondo_plan_t plan, const PlanOptions& options, int tiles) {
  std::string text = title_of(plan) + "\n";
  if (!options.weights.empty())
    text += fmt::format("the ranks of a group carry {} parts of the vector between groups\n",
                        fmt::join(options.weights, ":"));
  return text + fmt::format("on {}, {:g} us of latency, {} of each connection, in {}\n",
                            network_name(options), options.latency_us,
                            count_text(slots_of(plan, options), "slot"), count_text(tiles, "tile"));
}

std::string share_text(const rondo_plan_time_t& time) {
  return time.limit > 0 ? fmt::format("{:.1f}%", 100 * time.bandwidth / time.limit) : "-";
}

}  // namespace

std::string proof_text(rondo_plan_t plan) {
  const rondo_plan_proof_t proof = proof_of(plan);
  if (proof.verifies == 0) return fmt::format("does not verify: {}\n", proof.fault);
  std::string text = fmt::format("verifies with {} of each connection, {}\n", count_text(proof.slots, "slot"),
                                 proof.in_place != 0 ? "also in place" : "not in place");
  if (*proof.association != '\0') text += fmt::format("operands are combined in {}\n", proof.association);
  return text;
}

std::string shape_text(rondo_plan_t plan) {
  const rondo_plan_info_t info = info_of(plan);
  const PlanTotals totals = totals_of(plan);
  return fmt::format("{}\n{}, {}; at most {}, {} of scratch and {:.3g} vectors sent by a rank\n",
                     title_of(plan), count_text(totals.steps, "step"), count_text(totals.messages, "message"),
                     count_text(totals.lanes, "lane"), count_text(totals.scratch, "chunk"),
                     static_cast<double>(totals.sent) / info.chunks);
}

std::string step_list(rondo_plan_t plan, int rank) {
  const int ranks = info_of(plan).ranks;
  if (rank >= ranks) refuse(fmt::format("--rank is {}: expected 0 to {}", rank, ranks - 1));
  std::string text;
  for (int of = 0; of != ranks; ++of) {
    if (rank >= 0 && of != rank) continue;
    const auto lanes = steps_of(plan, of);
    for (size_t lane = 0; lane != lanes.size(); ++lane)
      for (size_t i = 0; i != lanes[lane].size(); ++i)
        text += fmt::format("rank {} lane {} step {}: {}\n", of, lane, i, lanes[lane][i]);
  }
  return text;
}

std::string time_table(rondo_plan_t plan, const PlanOptions& options, rondo_topology_t machine) {
  const int tiles = tiles_of(plan, options, RONDO_PLAN_TILES);
  std::string text = on_what(plan, options, tiles);
  text += fmt::format("{:>12} {:>12} {:>12} {:>12}\n", "size", "time", "bus GB/s", "of limit");
  for (const double bytes : sizes_of(options)) {
    const rondo_plan_time_t time =
        time_of(run_of(plan, network_of(plan, options, machine, bytes, tiles)).get());
    text += fmt::format("{:>12} {:>12} {:>12.1f} {:>12}\n", size_text(bytes), time_text(time.seconds),
                        time.bandwidth, share_text(time));
  }
  return text;
}

std::string explanation(rondo_plan_t plan, const PlanOptions& options, rondo_topology_t machine) {
  const int tiles = tiles_of(plan, options, RONDO_PLAN_TILES);
  std::string text = on_what(plan, options, tiles);
  for (const double bytes : sizes_of(options)) {
    const OwnedRun run = run_of(plan, network_of(plan, options, machine, bytes, tiles));
    const char* of_size = nullptr;
    require(rondo_plan_explain(run.get(), &of_size));
    text += of_size;
  }
  return text;
}

}  // namespace rondo::planner
