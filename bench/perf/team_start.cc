// SPDX-License-Identifier: Apache-2.0
#include "team_start.h"

#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "failure.h"
#include "gpu/device.h"
#include "try.h"

namespace rondo::perf {
namespace {

Who this_process(const PerfOptions& options) {
  Who who;
  who.pid = getpid();
  who.cpu = sched_getcpu();
  gethostname(who.host, sizeof who.host - 1);
  space_name(options.gpu.space).copy(who.space, sizeof who.space - 1);
  return who;
}

rondo_status_t gather(const Team& team, const std::vector<Who>& own, std::vector<Who>& all) {
  all.resize(own.size() * static_cast<size_t>(team.nthreads));
  return rondo_all_gather(own.data(), all.data(), own.size() * sizeof(Who), RONDO_UINT8, team.control,
                          nullptr);
}

// The ranks of a host take its GPUs in turn, in thread order.
rondo_status_t choose_devices(Team& team) {
  const PerfOptions& options = *team.options;
  const Who self = this_process(options);
  std::vector<Who> threads;
  PERF_TRY(gather(team, {self}, threads));
  size_t before = 0;
  for (int thread = 0; thread < team.thread; ++thread)
    before +=
        std::strcmp(threads[static_cast<size_t>(thread)].host, self.host) == 0 ? team.members.size() : 0;
  const std::vector<int>& devices = options.gpu.devices;
  for (TeamRank& member : team.members) member.device = devices[before++ % devices.size()];
  return RONDO_OK;
}

Status open_gpu(TeamRank& member) {
  RONDO_TRY_ASSIGN(member.cuda_stream, gpu::OwnedStream::create(member.device));
  RONDO_TRY_ASSIGN(member.stopwatch, gpu::Stopwatch::create(member.device));
  return {};
}

Status describe_gpu(const TeamRank& member, Who& who) {
  RONDO_TRY_ASSIGN(const auto info, gpu::device_info(member.device));
  who.device = member.device;
  info.name.copy(who.gpu, sizeof who.gpu - 1);
  static_assert(sizeof who.uuid == sizeof info.uuid);
  std::memcpy(who.uuid, info.uuid.data(), sizeof who.uuid);
  return {};
}

// Creates a communicator of the ranks, each with its GPU, in addition to the threads' control.
rondo_status_t join(Team& team) {
  rondo_unique_id_t id{};
  if (team.thread == 0) PERF_TRY(rondo_get_unique_id(&id));
  PERF_TRY(rondo_broadcast(&id, &id, sizeof id, RONDO_UINT8, 0, team.control, nullptr));
  return together(team, [&](TeamRank& member) {
    const std::string device = fmt::format("cuda:{}", member.device);
    rondo_config_t config = make_config(*team.options);
    config.device = device.c_str();
    const rondo_status_t status = rondo_init_rank(&member.joined, team.nranks, &id, member.rank, &config);
    member.comm = member.joined;
    return status;
  });
}

rondo_status_t open_streams(Team& team) {
  for (TeamRank& member : team.members) {
    if (team.options->queue)
      PERF_TRY(rondo_queue_create(&member.stream));
    else if (team.options->gpu.used())
      member.stream = rondo_cuda_stream(member.cuda_stream.get());
  }
  return RONDO_OK;
}

rondo_comm_t joined(const Team& team, const TeamRank& member) {
  return member.joined != nullptr ? member.joined : team.control;
}

}  // namespace

rondo_config_t make_config(const PerfOptions& options) {
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.timeout_ms = static_cast<int64_t>(options.timeout_s * 1000);
  if (!options.transport.empty()) config.transport = options.transport.c_str();
  config.device = "host";
  return config;
}

rondo_status_t start_team(Team& team) {
  for (TeamRank& member : team.members) member.comm = team.control;
  const bool gpus = team.options->gpu.used();
  if (gpus) PERF_TRY(choose_devices(team));
  for (TeamRank& member : team.members)
    if (gpus) PERF_TRY(noted(open_gpu(member)));
  if (gpus) PERF_TRY(join(team));
  return open_streams(team);
}

rondo_status_t fill_roster(Team& team) {
  std::vector<Who> own(team.members.size(), this_process(*team.options));
  for (size_t i = 0; i < own.size(); ++i)
    if (team.options->gpu.used()) PERF_TRY(noted(describe_gpu(team.members[i], own[i])));
  PERF_TRY(gather(team, own, team.roster));
  for (size_t rank = 1; rank < team.roster.size(); ++rank) {
    if (std::strcmp(team.roster[rank].space, team.roster[0].space) == 0) continue;
    note_failure(fmt::format(
        "buffers of rank 0 are in {} memory, those of rank {} in {} memory: name one with --memory",
        team.roster[0].space, rank, team.roster[rank].space));
    return RONDO_INVALID_USAGE;
  }
  return RONDO_OK;
}

rondo_status_t use_algorithm(Team& team, const std::string& algorithm) {
  return together(team, [&](TeamRank& member) {
    const std::string device = member.device < 0 ? "host" : fmt::format("cuda:{}", member.device);
    rondo_config_t config = make_config(*team.options);
    config.algorithm = algorithm.c_str();
    config.device = device.c_str();
    rondo_comm_t made = nullptr;
    const rondo_status_t status = rondo_split(joined(team, member), 0, member.rank, &made, &config);
    if (status == RONDO_OK) member.comm = made;
    return status;
  });
}

// To free a GPU's memory waits for its streams, so no thread may let its own wait for others before they are
// done.
rondo_status_t use_joined(Team& team) {
  PERF_TRY(together(team, [&](TeamRank& member) {
    const rondo_status_t status = rondo_destroy(member.comm);
    member.comm = joined(team, member);
    return status;
  }));
  return rondo_barrier(team.control, nullptr);
}

void release_others(const Team& team) {
  for (const TeamRank& member : team.members)
    if (member.joined != nullptr) static_cast<void>(rondo_abort(member.joined));
}

void end_team(Team& team) {
  if (team.options->queue)
    for (const TeamRank& member : team.members) static_cast<void>(rondo_queue_destroy(member.stream));
  static_cast<void>(together(team, [](TeamRank& member) { return rondo_destroy(member.joined); }));
}

}  // namespace rondo::perf
