// SPDX-License-Identifier: Apache-2.0
// The C API's plans in simulated time: on ports or on the links of a machine.
#include <algorithm>
#include <cmath>
#include <memory>

#include "base/error_kinds.h"
#include "plan_handle.h"
#include "schedule/simulator.h"
#include "synthesis/plan_time.h"
#include "topology_handle.h"

struct rondo_plan_run {
  static constexpr uint64_t kMark = 0x6e75726f646e6f72;
  uint64_t mark = kMark;
  rondo::PlanTime time = {};
  std::string text = {};  // what the time consists of
  std::vector<rondo_plan_message_t> messages = {};
};

namespace {

using namespace rondo;
using api::check_struct;
using api::guarded;

constexpr int kMaxRunSlots = 1'024;
constexpr int kMaxTiles = 65'536;
constexpr int64_t kMaxMessages = 1'000'000;
constexpr rondo_plan_network_t kDefaultNetwork = RONDO_PLAN_NETWORK_INITIALIZER;

Status check_run(rondo_plan_run_t run) {
  if (run == nullptr) return api::null_argument("run");
  if (run->mark != rondo_plan_run::kMark) return error(ErrorKind::NoSuchHandle, "run: not one, or freed");
  return {};
}

Status check_network(const rondo_plan_network_t& network) {
  RONDO_TRY(check_struct("network", &network));
  if (network.topology != nullptr) RONDO_TRY(api::check_topology(network.topology, "network->topology"));
  if (!std::isfinite(network.bandwidth) || network.bandwidth <= 0)
    return error(Code::InvalidArgument, "network->bandwidth is {}: expected more than 0", network.bandwidth);
  if (!std::isfinite(network.latency) || network.latency < 0)
    return error(Code::InvalidArgument, "network->latency is {}: expected 0 or more", network.latency);
  if (!std::isfinite(network.bytes) || network.bytes < 0)
    return error(Code::InvalidArgument, "network->bytes is {}: expected 0 or more", network.bytes);
  if (network.slots < 1 || network.slots > kMaxRunSlots)
    return error(Code::InvalidArgument, "network->slots is {}: expected 1 to {}", network.slots,
                 kMaxRunSlots);
  if (network.tiles < 1 || network.tiles > kMaxTiles)
    return error(Code::InvalidArgument, "network->tiles is {}: expected 1 to {}", network.tiles, kMaxTiles);
  return {};
}

Status check_size(const rondo_plan& plan, int tiles) {
  int64_t messages = 0;
  for (const Schedule& schedule : plan.ranks)
    for (const Lane& lane : schedule.lanes)
      for (const Step& step : lane.steps)
        if (step.has(kSend)) messages += static_cast<int64_t>(schedule.peer_sets[step.send_set].size());
  if (messages * tiles <= kMaxMessages) return {};
  return error(ErrorKind::TooLargeToPlan, "it has {} messages in {} tile{}: expected at most {}",
               messages * tiles, tiles, tiles == 1 ? "" : "s", kMaxMessages);
}

/// The chunk of the longer buffer that a Step moves; if it moves several, the first.
int chunk_moved(const Schedule& schedule, const Step& step) {
  const auto [buffer, chunk] =
      step.has(kCopy) ? Ref{step.dst(), step.dst_chunk} : Ref{step.src(), step.src_chunk};
  const int longest = std::max(schedule.chunks.input, schedule.chunks.output);
  const int own_block = schedule.rank * schedule.chunks.parts;
  switch (buffer) {
    case Buffer::Input: return schedule.chunks.input < longest ? own_block + chunk : chunk;
    case Buffer::Output: return schedule.chunks.output < longest ? own_block + chunk : chunk;
    case Buffer::Scratch: return chunk % longest;
    case Buffer::None: break;
  }
  return 0;
}

rondo_plan_message_t message_of(const rondo_plan& plan, const SimulatedTransfer& transfer) {
  const Schedule& sender = plan.ranks[static_cast<size_t>(transfer.from)];
  const Step& step =
      sender.lanes[static_cast<size_t>(transfer.lane)].steps[static_cast<size_t>(transfer.step)];
  return {.size = sizeof(rondo_plan_message_t),
          .from = transfer.from,
          .to = transfer.to,
          .port = transfer.port,
          .lane = transfer.lane,
          .step = transfer.step,
          .tile = transfer.tile,
          .chunk = chunk_moved(sender, step),
          .count = step.count,
          .bytes = transfer.bytes,
          .begins = transfer.begins,
          .ends = transfer.ends,
          .arrives = transfer.arrives};
}

/// The same nodes and links.
bool is_same(const TopologyGraph& a, const TopologyGraph& b) {
  return std::ranges::equal(a.links(), b.links(), [](const TopologyLink& one, const TopologyLink& other) {
    return one.from == other.from && one.to == other.to && one.cls == other.cls && one.kBps == other.kBps;
  });
}

Result<PlanNetwork> network_of(const rondo_plan& plan, const rondo_plan_network_t& on) {
  if (on.topology == nullptr)
    return ports_network(
        plan.shape.nranks,
        {.latency_s = on.latency, .bandwidth_bytes_per_s = on.bandwidth * 1e9, .slots = on.slots});
  const TopologyGraph links = api::usual_links(*on.topology, on.all_links);
  const auto n = static_cast<size_t>(plan.shape.nranks);
  if (links.gpus().size() < n)
    return error(Code::InvalidArgument, "network->topology has {} GPU{} for {} rank{}", links.gpus().size(),
                 links.gpus().size() == 1 ? "" : "s", n, n == 1 ? "" : "s");
  const bool follows = plan.found && is_same(plan.found->links, links);
  return links_network(links, links.gpus().first(n), plan.shape, plan.ranks,
                       follows ? &plan.found->forest : nullptr, on.latency, on.slots);
}

Result<std::unique_ptr<rondo_plan_run>> run_of(const rondo_plan& plan, const rondo_plan_network_t& on) {
  RONDO_TRY(check_size(plan, on.tiles));
  RONDO_TRY_ASSIGN(const PlanNetwork network, network_of(plan, on));
  auto run = std::make_unique<rondo_plan_run>();
  std::vector<SimulatedTransfer> transfers;
  RONDO_TRY_ASSIGN(run->time, plan_time(plan.shape, plan.ranks, on.bytes, on.tiles, network, &transfers));
  for (const SimulatedTransfer& transfer : transfers) run->messages.push_back(message_of(plan, transfer));
  run->text = text_of(run->time);
  return run;
}

}  // namespace

rondo_status_t rondo_plan_simulate(rondo_plan_run_t* run, rondo_plan_t plan,
                                   const rondo_plan_network_t* network) {
  return guarded("rondo_plan_simulate", nullptr, [&]() -> Status {
    if (run == nullptr) return api::null_argument("run");
    *run = nullptr;
    RONDO_TRY(api::check_plan(plan));
    const rondo_plan_network_t& on = network != nullptr ? *network : kDefaultNetwork;
    RONDO_TRY(check_network(on));
    RONDO_TRY_ASSIGN(std::unique_ptr<rondo_plan_run> made, run_of(*plan, on));
    *run = made.release();
    return {};
  });
}

rondo_status_t rondo_plan_time(rondo_plan_run_t run, rondo_plan_time_t* time) {
  return guarded("rondo_plan_time", nullptr, [&]() -> Status {
    RONDO_TRY(check_run(run));
    RONDO_TRY(check_struct("time", time));
    const PlanTime& known = run->time;
    *time = {.size = time->size,
             .seconds = known.seconds,
             .rounds = known.rounds,
             .latency = known.latency,
             .busiest = known.busiest.c_str(),
             .busiest_bytes = known.busiest_bytes,
             .busiest_time = known.busiest_time,
             .waits = known.waits,
             .bandwidth = known.bandwidth,
             .limit = known.limit,
             .messages = static_cast<int>(run->messages.size())};
    return {};
  });
}

rondo_status_t rondo_plan_explain(rondo_plan_run_t run, const char** text) {
  return guarded("rondo_plan_explain", nullptr, [&]() -> Status {
    RONDO_TRY(check_run(run));
    if (text == nullptr) return api::null_argument("text");
    *text = run->text.c_str();
    return {};
  });
}

rondo_status_t rondo_plan_message(rondo_plan_run_t run, int index, rondo_plan_message_t* message) {
  return guarded("rondo_plan_message", nullptr, [&]() -> Status {
    RONDO_TRY(check_run(run));
    RONDO_TRY(api::check_index("index", index, run->messages.size()));
    RONDO_TRY(check_struct("message", message));
    const size_t size = message->size;
    *message = run->messages[static_cast<size_t>(index)];
    message->size = size;
    return {};
  });
}

rondo_status_t rondo_plan_run_free(rondo_plan_run_t run) {
  if (run == nullptr) return RONDO_OK;
  return guarded("rondo_plan_run_free", nullptr, [&]() -> Status {
    RONDO_TRY(check_run(run));
    run->mark = 0;
    delete run;
    return {};
  });
}
