// SPDX-License-Identifier: Apache-2.0
// This host as a Machine: processors, PCI tree and network ports, read from /sys. Plain sysfs rather than
// hwloc: sysfs has the rates of ports and both ends of a link, which hwloc lacks, and any folder can take its
// place. Reads tens of files for each device, so it is for programs that ask, never for the start of a
// communicator. Any thread.
#pragma once

#include <string>

#include "base/status.h"
#include "graph/machine.h"

namespace rondo {

struct DetectOptions {
  std::string sysfs = "/sys";  // a folder like it describes another host
};

/// What the host shows. What it hides or contradicts itself in is guessed, and Machine::repairs says so with
/// the file. SystemError, with the file, if there is no such folder, or if it cannot be that of a host.
Result<Machine> detect_machine(const DetectOptions& options);

}  // namespace rondo
