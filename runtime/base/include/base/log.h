// The log: spdlog to standard error, with the level of RONDO_LOG (or NCCL's NCCL_DEBUG where that is not
// set). Any thread. Each line carries the process and, once it is known, the rank.
#pragma once

#include <spdlog/spdlog.h>

namespace rondo {

/// The process's logger; made at first use.
spdlog::logger& log();

}  // namespace rondo
