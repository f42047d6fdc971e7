#include "job.h"

#include <time.h>

#include <algorithm>
#include <thread>

#include "../quiet_thread.h"
#include "group.h"

namespace rondo::nccl {
namespace {

using bindings::quiet_thread;

void begin(const Job& job) {
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

/// Calls that are inside hear of an abort within milliseconds. Where one does not, what it uses is kept for
/// ever.
void free_when_unused(ncclComm* comm) {
  if (await_unused(*comm)) free_now(comm);
}

/// The last job of a communicator that was given up frees it.
void end_one(ncclComm* comm, const Outcome& outcome) {
  bool mine = false;
  {
    const std::lock_guard lock(comm->mutex);
    if (!outcome.ok() && comm->job_end.ok()) comm->job_end = outcome;
    mine = comm->jobs.fetch_sub(1) == 1 && comm->abandoned;
  }
  if (mine) free_when_unused(comm);
}

Outcome carry_out(const Job& job) {
  Outcome outcome;
  try {
    outcome = job.run();
  } catch (const std::exception& failure) {
    outcome = {ncclInternalError, failure.what()};
  }
  if (job.parent != nullptr) end_one(job.parent, {});
  end_one(job.comm, job.blocking ? Outcome{} : outcome);  // who waits for it is told
  return outcome;
}

/// A blocking call that failed leaves no communicator behind.
void settle(const Job& job, const Outcome& outcome) {
  if (outcome.ok() || job.target == nullptr) return;
  *job.target = nullptr;
  discard(job.comm);
}

struct Strand {
  const void* key;
  std::vector<Job> jobs;
};

std::vector<Strand> strands_of(std::vector<Job> jobs) {
  std::vector<Strand> strands;
  for (Job& job : jobs) {
    const void* key = job.parent != nullptr ? job.parent : job.comm;
    auto found =
        std::find_if(strands.begin(), strands.end(), [&](const Strand& one) { return one.key == key; });
    if (found == strands.end()) found = strands.insert(strands.end(), Strand{key, {}});
    found->jobs.push_back(std::move(job));
  }
  return strands;
}

Outcome first_failure(const std::vector<Outcome>& outcomes) {
  for (const Outcome& outcome : outcomes)
    if (!outcome.ok()) return outcome;
  return {};
}

Outcome run_here(const Strand& strand) {
  std::vector<Outcome> outcomes;
  for (const Job& job : strand.jobs) {
    outcomes.push_back(carry_out(job));
    settle(job, outcomes.back());
  }
  return first_failure(outcomes);
}

Outcome run_strands(std::vector<Strand> strands, bool blocking) {
  std::vector<Outcome> outcomes(strands.size());
  std::vector<std::thread> threads;
  for (size_t i = 1; i < strands.size() && blocking; ++i)
    threads.push_back(quiet_thread([&, i] { outcomes[i] = run_here(strands[i]); }));
  if (blocking) {
    outcomes[0] = run_here(strands[0]);
    for (std::thread& thread : threads) thread.join();
    return first_failure(outcomes);
  }
  for (Strand& strand : strands)
    quiet_thread([moved = std::move(strand)] {
      for (const Job& job : moved.jobs) static_cast<void>(carry_out(job));
    }).detach();
  return {ncclInProgress, {}};
}

}  // namespace

Outcome submit(Job job) {
  begin(job);
  if (Group::is_open()) {
    Group::add(std::move(job));
    return {};
  }
  std::vector<Job> one;
  one.push_back(std::move(job));
  return run_all(std::move(one));
}

Outcome run_all(std::vector<Job> jobs) {
  if (jobs.empty()) return {};
  const bool blocking = std::all_of(jobs.begin(), jobs.end(), [](const Job& job) { return job.blocking; });
  return run_strands(strands_of(std::move(jobs)), blocking);
}

void drop_all(std::vector<Job> jobs) {
  for (const Job& job : jobs) {
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
  constexpr int kNaps = 100'000;
  const timespec nap{0, 100'000};
  for (int i = 0; comm.users.load() != 0 && i != kNaps; ++i) ::nanosleep(&nap, nullptr);
  return comm.users.load() == 0;
}

}  // namespace rondo::nccl
