// SPDX-License-Identifier: Apache-2.0
#include "team.h"

#include <thread>

#include "failure.h"
#include "gpu/device.h"
#include "try.h"

namespace rondo::perf {
namespace {

Status wait_for_gpu(const TeamRank& member) {
  const gpu::Current current(member.device);
  RONDO_TRY(current.status());
  return gpu::synchronize(member.cuda_stream.get());
}

rondo_status_t wait_for(const TeamRank& member, bool queued) {
  if (member.stream == nullptr) return RONDO_OK;
  if (queued) return rondo_queue_synchronize(member.stream);
  PERF_TRY(noted(wait_for_gpu(member)));
  rondo_status_t failed = RONDO_OK;
  PERF_TRY(rondo_async_error(member.comm, &failed));
  if (failed != RONDO_OK) note_failure(rondo_last_error(member.comm));
  return failed;
}

}  // namespace

rondo_status_t together(Team& team, const std::function<rondo_status_t(TeamRank&)>& body) {
  if (team.members.size() == 1) return body(team.members[0]);
  struct RankOutcome {
    rondo_status_t status = RONDO_OK;
    std::string sentence;
  };
  std::vector<RankOutcome> outcomes(team.members.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < team.members.size(); ++i) {
    threads.emplace_back([&, i] {
      outcomes[i].status = body(team.members[i]);
      if (outcomes[i].status != RONDO_OK) outcomes[i].sentence = take_failure();
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (RankOutcome& outcome : outcomes) {
    if (outcome.status == RONDO_OK) continue;
    note_failure(std::move(outcome.sentence));
    return outcome.status;
  }
  return RONDO_OK;
}

rondo_status_t collect(const Team& team, const std::vector<double>& values, std::vector<double>& all) {
  all.assign(values.size() * static_cast<size_t>(team.nthreads), 0.0);
  return rondo_all_gather(values.data(), all.data(), values.size(), RONDO_FLOAT64, team.control, nullptr);
}

rondo_status_t wait_for(const Team& team) {
  for (const TeamRank& member : team.members) PERF_TRY(wait_for(member, team.options->queue));
  return RONDO_OK;
}

}  // namespace rondo::perf
