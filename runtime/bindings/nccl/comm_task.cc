// SPDX-License-Identifier: Apache-2.0
#include "comm_task.h"

#include <time.h>

#include <algorithm>
#include <thread>

#include "../quiet_thread.h"
#include "group.h"

namespace rondo::nccl {
namespace {

using bindings::quiet_thread;

void begin(const CommTask& job) {
  job.comm->jobs.fetch_add(1);
  if (job.parent != nullptr) job.parent->jobs.fetch_add(1);
}

void free_now(ncclComm* comm) {
  if (comm->comm != nullptr) {
    rondo_abort(comm->comm);
    rondo_destroy(comm->comm);
  }
  give_back_handle(comm);
}

/// Calls in flight notice an abort within milliseconds. If one does not, the communicator it uses is leaked.
void free_when_unused(ncclComm* comm) {
  if (await_unused(*comm)) free_now(comm);
}

/// The last task of an abandoned communicator frees it.
void end_one(ncclComm* comm, const Outcome& outcome) {
  bool mine = false;
  {
    const std::lock_guard lock(comm->mutex);
    if (!outcome.ok() && comm->job_end.ok()) comm->job_end = outcome;
    mine = comm->jobs.fetch_sub(1) == 1 && comm->abandoned;
  }
  if (mine) free_when_unused(comm);
}

Outcome carry_out(const CommTask& job) {
  Outcome outcome;
  try {
    outcome = job.run();
  } catch (const std::exception& failure) {
    outcome = {ncclInternalError, failure.what()};
  }
  if (job.parent != nullptr) end_one(job.parent, {});
  end_one(job.comm, job.blocking ? Outcome{} : outcome);  // wakes its waiters
  return outcome;
}

/// A blocking call that failed leaves no communicator behind.
void settle(const CommTask& job, const Outcome& outcome) {
  if (outcome.ok() || job.target == nullptr) return;
  *job.target = nullptr;
  discard(job.comm);
}

struct TaskChain {
  const void* key;
  std::vector<CommTask> jobs;
};

std::vector<TaskChain> strands_of(std::vector<CommTask> jobs) {
  std::vector<TaskChain> strands;
  for (CommTask& job : jobs) {
    const void* key = job.parent != nullptr ? job.parent : job.comm;
    auto found =
        std::find_if(strands.begin(), strands.end(), [&](const TaskChain& one) { return one.key == key; });
    if (found == strands.end()) found = strands.insert(strands.end(), TaskChain{key, {}});
    found->jobs.push_back(std::move(job));
  }
  return strands;
}

Outcome first_failure(const std::vector<Outcome>& outcomes) {
  for (const Outcome& outcome : outcomes)
    if (!outcome.ok()) return outcome;
  return {};
}

Outcome run_here(const TaskChain& strand) {
  std::vector<Outcome> outcomes;
  for (const CommTask& job : strand.jobs) {
    outcomes.push_back(carry_out(job));
    settle(job, outcomes.back());
  }
  return first_failure(outcomes);
}

Outcome run_strands(std::vector<TaskChain> strands, bool blocking) {
  std::vector<Outcome> outcomes(strands.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < strands.size() && blocking; ++i)
    threads.push_back(quiet_thread("rondo-nccl", [&, i] { outcomes[i] = run_here(strands[i]); }));
  if (blocking) {
    outcomes[0] = run_here(strands[0]);
    for (std::thread& thread : threads) thread.join();
    return first_failure(outcomes);
  }
  for (TaskChain& strand : strands)
    quiet_thread("rondo-nccl", [moved = std::move(strand)] {
      for (const CommTask& job : moved.jobs) static_cast<void>(carry_out(job));
    }).detach();
  return {ncclInProgress, {}};
}

}  // namespace

Outcome submit(CommTask job) {
  begin(job);
  if (GroupCalls::is_open()) {
    GroupCalls::add(std::move(job));
    return {};
  }
  std::vector<CommTask> one;
  one.push_back(std::move(job));
  return run_all(std::move(one));
}

Outcome run_all(std::vector<CommTask> jobs) {
  if (jobs.empty()) return {};
  const bool blocking =
      std::all_of(jobs.begin(), jobs.end(), [](const CommTask& job) { return job.blocking; });
  return run_strands(strands_of(std::move(jobs)), blocking);
}

void drop_all(std::vector<CommTask> jobs) {
  for (const CommTask& job : jobs) {
    const Outcome dropped =
        wrong(ncclInvalidUsage, "another call of the group failed, so this one was not made");
    if (job.parent != nullptr) end_one(job.parent, {});
    end_one(job.comm, job.target != nullptr ? dropped : Outcome{});
    settle(job, dropped);
  }
}

void discard(ncclComm* comm) {
  comm->mark.store(0);
  {
    const std::lock_guard lock(comm->mutex);
    if (comm->comm != nullptr) rondo_abort(comm->comm);
    if (comm->jobs.load() != 0) {
      comm->abandoned = true;
      return;
    }
  }
  free_when_unused(comm);
}

bool await_unused(const ncclComm& comm) {
  constexpr int kSleeps = 100'000;
  const timespec pause{0, 100'000};
  for (int i = 0; comm.users.load() != 0 && i != kSleeps; ++i) ::nanosleep(&pause, nullptr);
  return comm.users.load() == 0;
}

}  // namespace rondo::nccl
