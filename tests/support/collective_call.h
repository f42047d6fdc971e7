// SPDX-License-Identifier: Apache-2.0
// A collective of the C API whose kind is a value.
#pragma once

#include <rondo/rondo.h>

#include "base/collective.h"

namespace rondo::test {

using Kind = CollectiveKind;

/// Each kind uses those arguments that its function takes.
struct CollectiveCall {
  Kind kind = Kind::AllReduce;
  const void* from = nullptr;
  void* to = nullptr;
  size_t count = 1;  // in a gather_v or scatter_v: the length of the rank's own block
  rondo_type_t type = RONDO_INT32;
  rondo_op_t op = RONDO_SUM;
  int root = 0;
  bool varying = false;  // the _v form, which takes these as well
  const size_t* send_counts = nullptr;
  const size_t* send_offsets = nullptr;
  const size_t* recv_counts = nullptr;
  const size_t* recv_offsets = nullptr;
};

rondo_status_t make_call(const CollectiveCall& call, rondo_comm_t comm, rondo_stream_t stream = nullptr);

}  // namespace rondo::test
