// SPDX-License-Identifier: Apache-2.0
// The PluginDrains of this process, and the thread that advances them, which lives while there are any. A
// forked child leaves its parent's alone. Any thread.
#pragma once

#include <cstddef>

#include "plugin/drain.h"

namespace rondo::plugin {

/// Closes the comms once nothing is outstanding, at once or on the thread. Those for which that never happens
/// stay open. Returns at once.
void close_drained(PluginDrain drain);

/// How many are not closed yet.
size_t count_draining();

}  // namespace rondo::plugin
