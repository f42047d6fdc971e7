// SPDX-License-Identifier: Apache-2.0
#include "timing.h"

#include "failure.h"
#include "gpu/device.h"
#include "graph_replay.h"
#include "host_clock.h"
#include "try.h"

namespace rondo::perf {
namespace {

bool has_barrier(Pace pace) { return pace == Pace::BarrierEachCall || pace == Pace::UntimedBarrier; }

rondo_status_t note_algorithm(Team& team) {
  return rondo_last_algorithm(team.members[0].comm, &team.algorithm);
}

// Times all iterations by the host's clock.
rondo_status_t by_host(Team& team, const std::vector<Trial>& trials, std::vector<double>& times_us) {
  const PerfOptions& options = *team.options;
  const clockid_t clock = clock_for(options.cpu_time);
  double untimed = 0;
  const double start = now_us(clock);
  for (int i = 1; i <= options.iterations; ++i) {
    PERF_TRY(make_calls(trials, options.aggregate));
    const bool last = i == options.iterations;
    if (options.pace == Pace::Free && !last) continue;
    PERF_TRY(wait_for(team));
    const double done = now_us(clock);
    if (last) PERF_TRY(note_algorithm(team));
    if (has_barrier(options.pace)) PERF_TRY(rondo_barrier(team.control, nullptr));
    if (options.pace == Pace::UntimedBarrier) untimed += now_us(clock) - done;
  }
  times_us.assign(trials.size(), now_us(clock) - start - untimed);
  return RONDO_OK;
}

// Times each iteration by itself, after all ranks have written their inputs anew.
rondo_status_t each_by_host(Team& team, const std::vector<Trial>& trials, std::vector<double>& times_us) {
  const PerfOptions& options = *team.options;
  const clockid_t clock = clock_for(options.cpu_time);
  double timed = 0;
  for (int i = 0; i < options.iterations; ++i) {
    for (const Trial& one : trials) PERF_TRY(one.buffers->rewrite(one.place));
    PERF_TRY(wait_for(team));
    PERF_TRY(rondo_barrier(team.control, nullptr));
    const double start = now_us(clock);
    PERF_TRY(make_calls(trials, options.aggregate));
    PERF_TRY(wait_for(team));
    timed += now_us(clock) - start;
  }
  times_us.assign(trials.size(), timed);
  return note_algorithm(team);
}

template <typename Body>
rondo_status_t at_each(Team& team, Body body) {
  for (TeamRank& member : team.members) {
    const gpu::Current current(member.device);
    PERF_TRY(noted(current.status()));
    PERF_TRY(noted(body(member)));
  }
  return RONDO_OK;
}

// Times all iterations by events in the ranks' streams.
rondo_status_t by_events(Team& team, const std::vector<Trial>& trials, std::vector<double>& times_us) {
  const PerfOptions& options = *team.options;
  PERF_TRY(at_each(team, [](TeamRank& one) { return one.stopwatch.start(one.cuda_stream.get()); }));
  for (int i = 0; i < options.iterations; ++i) PERF_TRY(make_calls(trials, options.aggregate));
  PERF_TRY(at_each(team, [](TeamRank& one) { return one.stopwatch.stop(one.cuda_stream.get()); }));
  PERF_TRY(wait_for(team));
  times_us.clear();
  PERF_TRY(at_each(team, [&](TeamRank& one) -> Status {
    RONDO_TRY_ASSIGN(const double elapsed_us, one.stopwatch.elapsed_us());
    times_us.push_back(elapsed_us);
    return {};
  }));
  return note_algorithm(team);
}

// Times all iterations as one graph, launched several times.
rondo_status_t by_graph(Team& team, const std::vector<Trial>& trials, std::vector<double>& times_us) {
  const PerfOptions& options = *team.options;
  const int launches = options.gpu.graph_launches;
  const auto iterations = [&] {
    for (int i = 0; i < options.iterations; ++i) PERF_TRY(make_calls(trials, options.aggregate));
    return RONDO_OK;
  };
  double elapsed_us = 0;
  PERF_TRY(replay(team, iterations, {.untimed = 1, .timed = launches}, elapsed_us));
  times_us.assign(trials.size(), elapsed_us / launches);
  return note_algorithm(team);
}

}  // namespace

rondo_status_t time_calls(Team& team, const std::vector<Trial>& trials, std::vector<double>& times_us) {
  const PerfOptions& options = *team.options;
  for (int i = 0; i < options.warmup; ++i) PERF_TRY(make_calls(trials, options.aggregate));
  PERF_TRY(wait_for(team));
  PERF_TRY(rondo_barrier(team.control, nullptr));
  const auto how = options.gpu.graph_launches > 0 ? by_graph
                   : times_by_events(options)     ? by_events
                   : options.fresh                ? each_by_host
                                                  : by_host;
  PERF_TRY(how(team, trials, times_us));
  // Keeps what follows from taking CPU time from ranks that are still being timed.
  PERF_TRY(rondo_barrier(team.control, nullptr));
  for (double& time_us : times_us) time_us /= options.iterations * options.aggregate;
  return RONDO_OK;
}

}  // namespace rondo::perf
