// SPDX-License-Identifier: Apache-2.0
// Settings of a running host that slow collectives down and that no description of a machine shows: PCI
// access control, IOMMU, frequencies, buffers of TCP, limits of the process and of its control group. Reads
// /sys and /proc at each call, below another folder if wanted; any thread.
#pragma once

#include <string>
#include <vector>

#include "review/machine_finding.h"

namespace rondo {

/// Each with what to do, none with a change. `root`: a folder with the sys and proc of a host; "": this host.
/// What cannot be read is no fault, but for ACS, which only root can read: that is said.
std::vector<MachineFinding> host_faults(const std::string& root);

}  // namespace rondo
