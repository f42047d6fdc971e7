// SPDX-License-Identifier: Apache-2.0
#include "trial.h"

#include "graph_replay.h"
#include "try.h"

namespace rondo::perf {
namespace {

rondo_status_t issue_all(const std::vector<Trial>& trials, int times) {
  for (int i = 0; i < times; ++i)
    for (const Trial& one : trials) PERF_TRY(issue(one.call, one.place.send, one.place.recv));
  return RONDO_OK;
}

}  // namespace

rondo_status_t make_calls(const std::vector<Trial>& trials, int times) {
  if (times == 1 && trials.size() == 1) return issue_all(trials, times);
  PERF_TRY(rondo_group_start());
  const rondo_status_t status = issue_all(trials, times);
  const rondo_status_t ended = rondo_group_end();
  return status != RONDO_OK ? status : ended;
}

rondo_status_t run_once(Team& team, const std::vector<Trial>& trials) {
  if (team.options->gpu.graph_launches > 0) {
    double elapsed_us = 0;
    return replay(
        team, [&] { return make_calls(trials, 1); }, {}, elapsed_us);
  }
  PERF_TRY(make_calls(trials, 1));
  return wait_for(team);
}

}  // namespace rondo::perf
