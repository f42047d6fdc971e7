// SPDX-License-Identifier: Apache-2.0
// One call of a collective through the C API. Called by the rank's thread.
#pragma once

#include "layout.h"
#include "rondo/rondo.h"

namespace rondo::perf {

struct BenchCall {
  DataShape shape;
  DataLayout layout;
  rondo_type_t type = RONDO_FLOAT32;
  rondo_op_t op = RONDO_SUM;
  rondo_comm_t comm = nullptr;
  rondo_stream_t stream = nullptr;
  bool ping_pong = false;  // as PerfOptions
};

/// Makes the call; with a stream it may still be in progress on return.
rondo_status_t issue(const BenchCall& call, const void* send, void* recv);

}  // namespace rondo::perf
