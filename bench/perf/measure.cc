// SPDX-License-Identifier: Apache-2.0
#include "measure.h"

#include <algorithm>
#include <numeric>

#include "memory_limit.h"
#include "timing.h"
#include "try.h"

namespace rondo::perf {
namespace {

// Makes one call on known data and adds the number of wrong elements, by rank of the team.
rondo_status_t check_calls(Team& team, const std::vector<Trial>& trials, uint64_t round, Checker& checker,
                           std::vector<size_t>& wrong) {
  for (const Trial& one : trials) PERF_TRY(one.buffers->prepare(one.place, checker, round));
  PERF_TRY(run_once(team, trials));
  for (size_t i = 0; i < trials.size(); ++i)
    PERF_TRY(trials[i].buffers->count_wrong(trials[i].place, checker, round, wrong[i]));
  return RONDO_OK;
}

double averaged(const std::vector<double>& times, Average average) {
  switch (average) {
    case Average::RankZero: return times.front();
    case Average::Least: return *std::min_element(times.begin(), times.end());
    case Average::Most: return *std::max_element(times.begin(), times.end());
    case Average::Mean: break;
  }
  return std::accumulate(times.begin(), times.end(), 0.0) / static_cast<double>(times.size());
}

// Combines the times of single iterations: the slowest rank counts.
rondo_status_t combine_iterations(const Team& team, const std::vector<double>& own, double hops,
                                  Timing& timing) {
  if (own.empty()) return RONDO_OK;
  std::vector<double> all;
  PERF_TRY(collect(team, own, all));
  IterationTimes slowest{team.options->skipped_iterations, std::vector<double>(own.size())};
  for (size_t i = 0; i < all.size(); ++i) {
    double& time_us = slowest.times_us[i % own.size()];
    time_us = std::max(time_us, all[i] / hops);
  }
  timing.iterations = std::move(slowest);
  return RONDO_OK;
}

// Combines all ranks' times and numbers of wrong elements.
rondo_status_t combine(const Team& team, const CallTimes& own_times, const std::vector<size_t>& wrong,
                       size_t bytes, Collective collective, Timing& timing) {
  std::vector<double> own, all;
  for (size_t i = 0; i < wrong.size(); ++i)
    own.insert(own.end(), {own_times.ranks_us[i], static_cast<double>(wrong[i])});
  PERF_TRY(collect(team, own, all));
  std::vector<double> times;
  double wrong_everywhere = 0;
  for (size_t r = 0; r < all.size(); r += 2) {
    times.push_back(all[r]);
    wrong_everywhere += all[r + 1];
  }
  const bool goes_round = collective == Collective::SendRecv && team.options->ping_pong;
  const double hops = goes_round ? team.nranks : 1;
  timing.time_us = averaged(times, team.options->average) / hops;
  // If the clock did not advance there is no bandwidth.
  const double counted = static_cast<double>(bytes) * algorithm_factor(collective, team.nranks);
  timing.algbw = timing.time_us > 0 ? counted / timing.time_us * 1e-3 : 0;
  timing.busbw = timing.algbw * bus_factor(collective, team.nranks);
  if (team.options->checks > 0) timing.wrong = static_cast<size_t>(wrong_everywhere);
  return combine_iterations(team, own_times.iterations_us, hops, timing);
}

rondo_status_t measure_place(Team& team, const std::vector<Trial>& trials, Checker& checker, size_t bytes,
                             std::optional<Timing>& timing) {
  for (const Trial& one : trials) PERF_TRY(one.buffers->clear(one.place));
  CallTimes times;
  PERF_TRY(time_calls(team, trials, times));
  std::vector<size_t> wrong(trials.size());
  for (int round = 0; round < team.options->checks; ++round)
    PERF_TRY(check_calls(team, trials, static_cast<uint64_t>(round), checker, wrong));
  team.wrong_here += std::accumulate(wrong.begin(), wrong.end(), size_t{0});
  timing.emplace();
  timing->limit_us = limit_us(team, trials[0]);
  return combine(team, times, wrong, bytes, trials[0].call.shape.collective, *timing);
}

}  // namespace

rondo_status_t measure(Team& team, std::vector<Trial> trials, Checker& checker, Row& row) {
  const size_t element_bytes = checker.type().bytes;
  for (Trial& one : trials)
    one.place = out_of_place(one.call.layout, one.buffers->send(), one.buffers->recv(), element_bytes);
  PERF_TRY(measure_place(team, trials, checker, row.bytes, row.out_of_place));
  if (!collective_info(trials[0].call.shape.collective).in_place) return RONDO_OK;
  for (Trial& one : trials) one.place = in_place(one.call.layout, one.buffers->recv(), element_bytes);
  return measure_place(team, trials, checker, row.bytes, row.in_place);
}

}  // namespace rondo::perf
