// SPDX-License-Identifier: Apache-2.0
// Hosts as their users describe them: by a file, or else as they are detected. What a description lacks is in
// Machine::repairs. Reads many files, so it is for programs and calls that ask. Any thread.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "detect/detect_machine.h"
#include "graph/machine.h"

namespace rondo {

/// The machine in a file: see machine_from_file(). A template is completed if it is one of this host.
Result<Machine> described_machine(const char* path);

/// This host: the machine in the file that RONDO_TOPO_FILE or else NCCL_TOPO_FILE names, as errors say; if
/// neither is set, see detect_machine().
Result<Machine> described_host(const DetectOptions& options);

/// A hash of that description, with all of the host's GPUs: processes that describe the host alike have the
/// same. 0: there is no description. Made once for each file that a variable names.
uint64_t hash_of_this_host();

}  // namespace rondo
