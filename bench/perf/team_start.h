// How a team gets what it measures with: GPUs, communicators of the ranks, queues and streams; and how it
// gives them back. Collective: every thread calls these.
#pragma once

#include "team.h"

namespace rondo::perf {

/// From a team whose control and members' ranks are set to one that can make calls.
rondo_status_t start_team(Team& team);

/// Everyone learns who all are; an error where their buffers are in different kinds of memory.
rondo_status_t fill_roster(Team& team);

/// What all communicators of the options have in common. The texts are the options'.
rondo_config_t make_config(const Options& options);

/// Communicators that use the algorithm, as COLLECTIVE=NAME, instead of those that a member has; and those
/// again.
rondo_status_t use_algorithm(Team& team, const std::string& algorithm);
rondo_status_t use_joined(Team& team);

/// After a failure: ranks that wait for those of the team in a measured call get an error.
void release_others(const Team& team);

void end_team(Team& team);

}  // namespace rondo::perf
