// SPDX-License-Identifier: Apache-2.0
// The answering side of place_query.h. On the service thread.
#pragma once

#include <sys/types.h>

#include "base/fd.h"

namespace rondo {

/// Tells a peer, soon, where a thread of this process is, or the main thread if that one has ended. Returns
/// at once.
void answer_place(pid_t thread, Fd fd);

}  // namespace rondo
