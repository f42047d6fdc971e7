// SPDX-License-Identifier: Apache-2.0
// Finalize: a rank that ends its last communicator waits for that communicator's other ranks. On the thread
// that ends it.
#pragma once

#include "bootstrap/membership.h"

namespace rondo {

/// Waits until each other rank has finished the communicator too, has left the job, or is busy with another
/// communicator, which may depend on this rank finishing this one. Timeout names the first rank for which
/// none of these holds, and what it is doing.
Status await_ends(const Membership& membership);

}  // namespace rondo
