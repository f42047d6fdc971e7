// SPDX-License-Identifier: Apache-2.0
// Where the program of a rank is that others wait for: asked for once their deadline has passed, as the
// answer may interrupt a thread there. Any thread.
#pragma once

#include <string>

#include "net/socket.h"

namespace rondo {

class Session;

/// "is in train.py:214 (step)": the thread that made the communicator there. Empty if rank `rank` (of the
/// session) does not answer or does not know.
std::string inquire_place(Session& session, int rank, uint64_t communicator, const Deadline& deadline,
                          const Interrupt& interrupt);

/// Why the process of a rank of this host does not answer, such as "is stopped (SIGSTOP or job control)";
/// empty: that cannot be seen.
std::string trouble_of_process(const Session& session, int rank);

}  // namespace rondo
