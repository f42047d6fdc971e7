// SPDX-License-Identifier: Apache-2.0
// The C API's choices on paper: how a communicator would make a call, without one.
#include "call/check.h"
#include "handles.h"
#include "plan/paper_job.h"
#include "plan/selector.h"
#include "plan_handle.h"
#include "this_host/described_host.h"
#include "topology_handle.h"

namespace {

using namespace rondo;
using api::guarded;

constexpr int kMaxCpus = 65'536;

Result<PaperJob> checked_job(const rondo_plan_job_t* job) {
  RONDO_TRY(api::check_struct("job", job));
  if (job->ranks < 1 || job->ranks > api::kMaxPlanRanks)
    return error(Code::InvalidArgument, "job->ranks is {}: expected 1 to {}", job->ranks, api::kMaxPlanRanks);
  if (job->hosts < 1 || job->hosts > job->ranks || job->ranks % job->hosts != 0)
    return error(Code::InvalidArgument, "job->hosts is {}: expected a divisor of {} ranks", job->hosts,
                 job->ranks);
  if (job->cpus < 0 || job->cpus > kMaxCpus)
    return error(Code::InvalidArgument, "job->cpus is {}: expected 0 to {}", job->cpus, kMaxCpus);
  if (job->group < 0 || job->group > job->ranks)
    return error(Code::InvalidArgument, "job->group is {}: expected 0 to {}", job->group, job->ranks);
  if (job->topology != nullptr) RONDO_TRY(api::check_topology(job->topology));
  return PaperJob{.nranks = job->ranks, .hosts = job->hosts, .cpus = job->cpus};
}

/// Of ranks without GPUs of their own.
RanksOfMachine ranks_of(const rondo_plan_job_t& job) {
  return {.nranks = job.ranks,
          .hosts = job.hosts,
          .bus_ids = std::vector<std::string>(static_cast<size_t>(job.ranks)),
          .describe = [topology = job.topology] {
            return topology != nullptr ? api::machine_of(*topology) : described_host({});
          }};
}

/// A Choice without the algorithm, which belongs to the job's FoundPlans.
struct NamedChoice {
  const char* algorithm = "";  // static
  std::string text;
};

Result<NamedChoice> choice_of(const rondo_plan_job_t& wanted, const PaperJob& job,
                              const CallRequest& request) {
  RONDO_TRY_ASSIGN(Communicator::Options options, Communicator::options({}));
  RONDO_TRY_ASSIGN(const Call call, checked_without_buffers(request, job.nranks));
  options.selector.use(std::make_shared<FoundPlans>(ranks_of(wanted)));
  if (wanted.group != 0) options.levels = Levels(wanted.group);
  const std::vector<PeerInfo> peers = peers_of(job);
  std::vector<const PeerInfo*> members;
  for (const PeerInfo& peer : peers) members.push_back(&peer);
  const CommTopology topology(members, peers[0].endpoint.host, options.transport);
  const HostExecutors made =
      host_executors(topology, options.levels, options.params.slot_bytes, options.pull_bytes);
  RONDO_TRY_ASSIGN(Choice chosen, explain(options.selector, call, made.links.shape(call), made.rows));
  return NamedChoice{chosen.algorithm->name, std::move(chosen.text)};
}

}  // namespace

rondo_status_t rondo_plan_choice(const rondo_plan_job_t* job, const char* collective, size_t count,
                                 rondo_type_t type, rondo_op_t op, int root, const char** text,
                                 const char** algorithm) {
  return guarded("rondo_plan_choice", nullptr, [&]() -> Status {
    RONDO_TRY_ASSIGN(const PaperJob on_paper, checked_job(job));
    if (text == nullptr) return api::null_argument("text");
    RONDO_TRY_ASSIGN(const CollectiveKind kind, api::kind_of(collective));
    const CallRequest request{.kind = kind, .count = count, .type = type, .op = op, .root = root};
    thread_local NamedChoice latest;
    RONDO_TRY_ASSIGN(latest, choice_of(*job, on_paper, request));
    *text = latest.text.c_str();
    if (algorithm != nullptr) *algorithm = latest.algorithm;
    return {};
  });
}
