// SPDX-License-Identifier: Apache-2.0
#include "group.h"

#include <algorithm>

#include "comm_task.h"

namespace rondo::nccl {
namespace {

struct GroupState {
  int depth = 0;
  bool calls = false;  // the runtime's group is open
  Outcome failure;
  std::vector<CommTask> jobs;
  std::vector<const ncclComm*> used;
};

thread_local GroupState state;

/// Returns the collected calls and closes the thread's group.
GroupState take() { return std::exchange(state, GroupState{}); }

Outcome make_calls(bool calls) {
  if (!calls) return {};
  const rondo_status_t status = rondo_group_end();
  return outcome_of(status);
}

Outcome no_group(const char* what) {
  return wrong(ncclInvalidUsage, "{}() without an ncclGroupStart() on this thread", what);
}

void forget(GroupState& group) {
  if (group.calls) rondo_group_cancel();
  drop_all(std::move(group.jobs));
}

}  // namespace

void GroupCalls::start() { ++state.depth; }

Outcome GroupCalls::end() {
  if (state.depth == 0) return no_group("ncclGroupEnd");
  if (--state.depth != 0) return {};
  GroupState group = take();
  if (!group.failure.ok()) {
    forget(group);
    return group.failure;
  }
  const Outcome started = run_all(std::move(group.jobs));
  if (!started.ok() && started.result != ncclInProgress) {
    if (group.calls) rondo_group_cancel();
    return started;
  }
  const Outcome made = make_calls(group.calls);
  return made.ok() ? started : made;
}

Outcome GroupCalls::cancel() {
  if (state.depth == 0) return no_group("ncclGroupSimulateEnd");
  if (--state.depth != 0) return {};
  GroupState group = take();
  forget(group);
  return group.failure;
}

bool GroupCalls::is_open() { return state.depth != 0; }

void GroupCalls::add(CommTask job) { state.jobs.push_back(std::move(job)); }

Outcome GroupCalls::enter(ncclComm& comm) {
  if (state.depth == 0) return {};
  if (!state.calls) RONDO_NCCL_TRY(outcome_of(rondo_group_start()));
  state.calls = true;
  state.used.push_back(&comm);
  return {};
}

bool GroupCalls::has(const ncclComm& comm) {
  return std::find(state.used.begin(), state.used.end(), &comm) != state.used.end();
}

void GroupCalls::drop_calls() {
  if (state.calls) rondo_group_cancel();
  state.calls = false;
  state.used.clear();
  note_failure(wrong(ncclInvalidUsage, "a communicator of the group was aborted before the group's end"));
}

void GroupCalls::note_failure(const Outcome& outcome) {
  if (state.depth != 0 && state.failure.ok()) state.failure = outcome;
}

}  // namespace rondo::nccl
