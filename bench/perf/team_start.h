// SPDX-License-Identifier: Apache-2.0
// Acquires and releases the resources of a team: GPUs, communicators of the ranks, queues and streams.
// Collective: every thread calls these.
#pragma once

#include "team.h"

namespace rondo::perf {

/// Makes a team whose control and members' ranks are set ready to make calls.
rondo_status_t start_team(Team& team);

/// Exchanges the description of every rank; an error if their buffers are in different kinds of memory.
rondo_status_t fill_roster(Team& team);

/// The configuration common to all communicators. Its strings belong to the options.
rondo_config_t make_config(const PerfOptions& options);

/// Replaces the members' communicators by ones that use the algorithm, given as COLLECTIVE=NAME; use_joined()
/// restores them.
rondo_status_t use_algorithm(Team& team, const std::string& algorithm);
rondo_status_t use_joined(Team& team);

/// After a failure: gives an error to ranks that wait for the team's ranks in a measured call.
void release_others(const Team& team);

void end_team(Team& team);

}  // namespace rondo::perf
