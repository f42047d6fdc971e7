// The level of the log, which RONDO_LOG says, or NCCL_DEBUG where that is not set. Any thread.
#pragma once

#include "base/status.h"

namespace rondo {

/// Takes the level that the environment says now; InvalidArgument where RONDO_LOG is none. Until the first
/// call, and after a refusal, the log shows warnings at least.
Status read_log_level();

/// Whether the log shows what is said with info().
bool log_shows_info();

}  // namespace rondo
