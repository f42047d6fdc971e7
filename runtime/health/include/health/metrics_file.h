// SPDX-License-Identifier: Apache-2.0
// The file that RONDO_METRICS names: counts of this process's calls, in Prometheus's text format. A thread of
// its own replaces it every few seconds. Any thread.
#pragma once

#include "base/status.h"

namespace rondo {

/// Reads RONDO_METRICS, and starts the thread if it is set; InvalidArgument if it cannot be such a name.
Status read_metrics_file_name();

/// To be called when a communicator has ended: if it was the last, waits until the file has its calls, but
/// two seconds at most.
void finish_metrics_file();

}  // namespace rondo
