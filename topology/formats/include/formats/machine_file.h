// SPDX-License-Identifier: Apache-2.0
// A description of a host in a file of any format that this room reads. Any thread.
#pragma once

#include <string>

#include "graph/machine.h"

namespace rondo {

/// NCCL's XML, hwloc's XML or the table of `nvidia-smi topo -m`; the content decides. SystemError if it
/// cannot be read, InvalidArgument, with file, line and what was expected, if it is none of these.
Result<Machine> machine_from_file(const std::string& path);

}  // namespace rondo
