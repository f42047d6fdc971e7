// SPDX-License-Identifier: Apache-2.0
// Schedules of MSCCL programs. Pure function: any thread.
#pragma once

#include <vector>

#include "formats/msccl_xml.h"
#include "schedule/schedule.h"

namespace rondo {

/// By rank. A lane runs the thread blocks of a GPU that a chain of connections joins, mostly one: ports name
/// the chains, and all ends of a connection have its port. InvalidArgument, with file and line, if the
/// program cannot run; Unsupported if it is too large for Schedules.
Result<std::vector<Schedule>> schedules_of(const MscclProgram& program);

}  // namespace rondo
