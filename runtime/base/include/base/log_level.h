// SPDX-License-Identifier: Apache-2.0
// The level of the log, from RONDO_LOG or, if that is not set, NCCL_DEBUG. Any thread.
#pragma once

#include "base/status.h"

namespace rondo {

/// Re-reads the level from the environment; InvalidArgument if RONDO_LOG is not a level. Until the first
/// call, and after an error, the log shows at least warnings.
Status read_log_level();

/// Whether the log shows info() messages.
bool log_shows_info();

}  // namespace rondo
