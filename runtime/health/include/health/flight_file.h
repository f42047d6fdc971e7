// SPDX-License-Identifier: Apache-2.0
// The file that RONDO_FLIGHT_FILE names, in which a process leaves the latest calls of its communicators when
// one of them fails. Writing may take long, so a thread of its own does it. Any thread.
#pragma once

#include <string>

#include "base/status.h"
#include "health/comm_state.h"

namespace rondo {

/// Reads RONDO_FLIGHT_FILE; InvalidArgument if it cannot be the name of such a file.
Status read_flight_file_name();

/// Fails the communicator. If that is its first failure, which is the result, the file is written soon.
/// Returns at once.
bool record_failure(CommState& state, Status cause);

/// Waits until what was requested is written, so that the process may end; a few seconds at most, once.
void await_flight_file();

/// Writes it now, to `name` or, if that is empty, to the file that RONDO_FLIGHT_FILE names.
Status write_flight_file(const std::string& name);

}  // namespace rondo
