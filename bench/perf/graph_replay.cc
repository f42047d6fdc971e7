// SPDX-License-Identifier: Apache-2.0
#include "graph_replay.h"

#include "failure.h"
#include "gpu/device.h"
#include "gpu/graph.h"
#include "host_clock.h"
#include "try.h"

namespace rondo::perf {
namespace {

// This thread's ranks among those of the process. The process's first rank leads the capture.
struct ReplayGroup {
  Team& team;
  size_t first_end;
  bool leads;

  TeamRank& leader() const { return team.members[0]; }
};

ReplayGroup part_of(Team& team) {
  const size_t ends = team.graphs->ends.size();
  const size_t first = static_cast<size_t>(team.members[0].rank) % ends;  // all processes have equally many
  return {team, first, first == 0};
}

rondo_status_t everyone_here(const ReplayGroup& part) { return rondo_barrier(part.team.control, nullptr); }

Status begin(const ReplayGroup& part) {
  const TeamRank& leader = part.leader();
  const gpu::Current current(leader.device);
  RONDO_TRY(current.status());
  RONDO_TRY_ASSIGN(part.team.graphs->start, gpu::Event::create(leader.device));
  RONDO_TRY(gpu::begin_capture(leader.cuda_stream.get()));
  return part.team.graphs->start.record(leader.cuda_stream.get());
}

bool is_leader(const ReplayGroup& part, const TeamRank& member) {
  return part.leads && &member == &part.leader();
}

Status come_in(const ReplayGroup& part) {
  for (const TeamRank& member : part.team.members) {
    if (is_leader(part, member)) continue;
    const gpu::Current current(member.device);
    RONDO_TRY(current.status());
    RONDO_TRY(part.team.graphs->start.hold(member.cuda_stream.get()));
  }
  return {};
}

Status go_back(const ReplayGroup& part) {
  for (size_t i = 0; i < part.team.members.size(); ++i) {
    const TeamRank& member = part.team.members[i];
    gpu::Event& end = part.team.graphs->ends[part.first_end + i];
    if (is_leader(part, member)) continue;
    RONDO_TRY_ASSIGN(end, gpu::Event::create(member.device));
    const gpu::Current current(member.device);
    RONDO_TRY(current.status());
    RONDO_TRY(end.record(member.cuda_stream.get()));
  }
  return {};
}

Result<gpu::Graph> end(const ReplayGroup& part) {
  const gpu::Stream stream = part.leader().cuda_stream.get();
  const gpu::Current current(part.leader().device);
  RONDO_TRY(current.status());
  for (size_t i = 1; i < part.team.graphs->ends.size(); ++i)
    RONDO_TRY(part.team.graphs->ends[i].hold(stream));
  return gpu::Graph::end_capture(stream);
}

Status launch(const gpu::Graph& graph, gpu::Stream stream, int launches) {
  for (int i = 0; i < launches; ++i) RONDO_TRY(graph.launch(stream));
  return {};
}

Result<double> by_stopwatch(TeamRank& leader, const gpu::Graph& graph, int launches) {
  const gpu::Stream stream = leader.cuda_stream.get();
  RONDO_TRY(leader.stopwatch.start(stream));
  RONDO_TRY(launch(graph, stream, launches));
  RONDO_TRY(leader.stopwatch.stop(stream));
  return leader.stopwatch.elapsed_us();
}

Result<double> by_host(const TeamRank& leader, const gpu::Graph& graph, int launches, clockid_t clock) {
  const double start_us = now_us(clock);
  RONDO_TRY(launch(graph, leader.cuda_stream.get(), launches));
  RONDO_TRY(gpu::synchronize(leader.cuda_stream.get()));
  return now_us(clock) - start_us;
}

Status time_launches(const ReplayGroup& part, const gpu::Graph& graph, const Launches& launches) {
  TeamRank& leader = part.leader();
  const PerfOptions& options = *part.team.options;
  const gpu::Current current(leader.device);
  RONDO_TRY(current.status());
  RONDO_TRY(launch(graph, leader.cuda_stream.get(), launches.untimed));
  RONDO_TRY(gpu::synchronize(leader.cuda_stream.get()));
  RONDO_TRY_ASSIGN(part.team.graphs->elapsed_us,
                   times_by_events(options)
                       ? by_stopwatch(leader, graph, launches.timed)
                       : by_host(leader, graph, launches.timed, clock_for(options.cpu_time)));
  return {};
}

}  // namespace

rondo_status_t replay(Team& team, const std::function<rondo_status_t()>& body, const Launches& launches,
                      double& elapsed_us) {
  const ReplayGroup part = part_of(team);
  PERF_TRY(wait_for(team));  // the graph does not wait for earlier work in the other streams
  if (part.leads) PERF_TRY(noted(begin(part)));
  PERF_TRY(everyone_here(part));
  PERF_TRY(noted(come_in(part)));
  PERF_TRY(body());
  PERF_TRY(noted(go_back(part)));
  PERF_TRY(everyone_here(part));
  auto graph = part.leads ? end(part) : gpu::Graph();
  PERF_TRY(noted(graph.status()));
  PERF_TRY(everyone_here(part));  // all processes launch at the same time
  if (part.leads) PERF_TRY(noted(time_launches(part, graph.value(), launches)));
  PERF_TRY(everyone_here(part));
  elapsed_us = team.graphs->elapsed_us;
  return RONDO_OK;
}

}  // namespace rondo::perf
