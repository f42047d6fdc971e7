// SPDX-License-Identifier: Apache-2.0
// Faults of this host: of its settings, as rondo_topology_diagnose_host() finds them, and of what it is doing
// at the moment. One thread.
#pragma once

#include "finding.h"

namespace rondo::doctor {

/// Computes for a fifth of a second on this thread; all ranks of a host do so at the same time, as in a job.
/// Returns the part of the time, 0 to 1, in which this thread did not run.
double lost_time();

/// `lost`: the most that a rank of this host has lost, of `ranks` ranks.
DoctorFindings host_findings(double lost, int ranks);

}  // namespace rondo::doctor
