// SPDX-License-Identifier: Apache-2.0
#include "timing.h"

#include <algorithm>

#include "failure.h"
#include "gpu/device.h"
#include "graph_replay.h"
#include "host_clock.h"
#include "laps.h"
#include "try.h"

namespace rondo::perf {
namespace {

bool has_barrier(Pace pace) { return pace == Pace::BarrierEachCall || pace == Pace::UntimedBarrier; }

rondo_status_t note_algorithm(Team& team) {
  return rondo_last_algorithm(team.members[0].comm, &team.algorithm);
}

// Times all iterations by the host's clock. With -I, one reading of it ends an iteration and starts the next.
rondo_status_t by_host(Team& team, const std::vector<Trial>& trials, CallTimes& times) {
  const PerfOptions& options = *team.options;
  const clockid_t clock = clock_for(options.cpu_time);
  double untimed = 0, end = 0;
  const double start = now_us(clock);
  Laps laps(options.per_iteration, options.iterations, start);
  for (int i = 1; i <= options.iterations; ++i) {
    PERF_TRY(make_calls(trials, options.aggregate));
    const bool last = i == options.iterations;
    if (options.pace == Pace::Free && !last) {
      if (laps) laps.end(now_us(clock));
      continue;
    }
    PERF_TRY(wait_for(team));
    const double done = now_us(clock);
    if (last) PERF_TRY(note_algorithm(team));
    if (has_barrier(options.pace)) PERF_TRY(rondo_barrier(team.control, nullptr));
    const double next = has_barrier(options.pace) ? now_us(clock) : done;
    if (options.pace == Pace::UntimedBarrier) untimed += next - done;
    laps.end(options.pace == Pace::BarrierEachCall ? next : done, next);
    end = next;
  }
  times.ranks_us.assign(trials.size(), end - start - untimed);
  times.iterations_us = laps.take();
  return RONDO_OK;
}

// Times each iteration by itself, after all ranks have written their inputs anew.
rondo_status_t each_by_host(Team& team, const std::vector<Trial>& trials, CallTimes& times) {
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
    const double elapsed_us = now_us(clock) - start;
    timed += elapsed_us;
    if (options.per_iteration) times.iterations_us.push_back(elapsed_us);
  }
  times.ranks_us.assign(trials.size(), timed);
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

// The points in a rank's stream between its iterations.
using IterationEvents = std::vector<gpu::Event>;

// No events without -I.
rondo_status_t create_events(Team& team, std::vector<IterationEvents>& all) {
  const PerfOptions& options = *team.options;
  all.resize(options.per_iteration ? team.members.size() : 0);
  for (size_t member = 0; member < all.size(); ++member) {
    for (int i = 0; i <= options.iterations; ++i) {
      PERF_TRY_ASSIGN(gpu::Event event, gpu::Event::create(team.members[member].device, true));
      all[member].push_back(std::move(event));
    }
  }
  return RONDO_OK;
}

rondo_status_t record_iteration(Team& team, std::vector<IterationEvents>& all, int iteration) {
  size_t next = 0;
  if (all.empty()) return RONDO_OK;
  return at_each(team, [&](TeamRank& one) {
    return all[next++][static_cast<size_t>(iteration)].record(one.cuda_stream.get());
  });
}

rondo_status_t slowest_iterations(Team& team, const std::vector<IterationEvents>& all,
                                  std::vector<double>& times_us) {
  if (all.empty()) return RONDO_OK;
  times_us.assign(all[0].size() - 1, 0);
  size_t next = 0;
  return at_each(team, [&](TeamRank&) -> Status {
    const IterationEvents& events = all[next++];
    for (size_t i = 0; i < times_us.size(); ++i) {
      RONDO_TRY_ASSIGN(const double elapsed_us, events[i + 1].elapsed_us(events[i]));
      times_us[i] = std::max(times_us[i], elapsed_us);
    }
    return {};
  });
}

// Times all iterations by events in the ranks' streams.
rondo_status_t by_events(Team& team, const std::vector<Trial>& trials, CallTimes& times) {
  const PerfOptions& options = *team.options;
  std::vector<IterationEvents> between;
  PERF_TRY(create_events(team, between));
  PERF_TRY(at_each(team, [](TeamRank& one) { return one.stopwatch.start(one.cuda_stream.get()); }));
  PERF_TRY(record_iteration(team, between, 0));
  for (int i = 1; i <= options.iterations; ++i) {
    PERF_TRY(make_calls(trials, options.aggregate));
    PERF_TRY(record_iteration(team, between, i));
  }
  PERF_TRY(at_each(team, [](TeamRank& one) { return one.stopwatch.stop(one.cuda_stream.get()); }));
  PERF_TRY(wait_for(team));
  times.ranks_us.clear();
  PERF_TRY(at_each(team, [&](TeamRank& one) -> Status {
    RONDO_TRY_ASSIGN(const double elapsed_us, one.stopwatch.elapsed_us());
    times.ranks_us.push_back(elapsed_us);
    return {};
  }));
  PERF_TRY(slowest_iterations(team, between, times.iterations_us));
  return note_algorithm(team);
}

// Times all iterations as one graph, launched several times.
rondo_status_t by_graph(Team& team, const std::vector<Trial>& trials, CallTimes& times) {
  const PerfOptions& options = *team.options;
  const int launches = options.gpu.graph_launches;
  const auto iterations = [&] {
    for (int i = 0; i < options.iterations; ++i) PERF_TRY(make_calls(trials, options.aggregate));
    return RONDO_OK;
  };
  double elapsed_us = 0;
  PERF_TRY(replay(team, iterations, {.untimed = 1, .timed = launches}, elapsed_us));
  times.ranks_us.assign(trials.size(), elapsed_us / launches);
  return note_algorithm(team);
}

}  // namespace

rondo_status_t time_calls(Team& team, const std::vector<Trial>& trials, CallTimes& times) {
  const PerfOptions& options = *team.options;
  for (int i = 0; i < options.warmup; ++i) PERF_TRY(make_calls(trials, options.aggregate));
  PERF_TRY(wait_for(team));
  PERF_TRY(rondo_barrier(team.control, nullptr));
  const auto how = options.gpu.graph_launches > 0 ? by_graph
                   : times_by_events(options)     ? by_events
                   : options.fresh                ? each_by_host
                                                  : by_host;
  PERF_TRY(how(team, trials, times));
  // Keeps what follows from taking CPU time from ranks that are still being timed.
  PERF_TRY(rondo_barrier(team.control, nullptr));
  for (double& time_us : times.ranks_us) time_us /= options.iterations * options.aggregate;
  for (double& time_us : times.iterations_us) time_us /= options.aggregate;
  return RONDO_OK;
}

}  // namespace rondo::perf
