// SPDX-License-Identifier: Apache-2.0
// Events. Guarded by Driver::mutex.
#pragma once

#include <cuda.h>

#include <chrono>
#include <memory>
#include <vector>

#include "stream.h"

namespace rondo::standin {

/// One recording of an event. `at` is set once it is done.
struct Record {
  CompletionPtr done;
  std::chrono::steady_clock::time_point at;
};

}  // namespace rondo::standin

struct CUevent_st {
  CUcontext context = nullptr;
  unsigned flags = 0;
  std::shared_ptr<rondo::standin::Record> record;    // null: never recorded
  std::shared_ptr<rondo::standin::Capture> capture;  // of the last recording
  std::vector<CUgraphNode> nodes;                    // nodes of that capture that the event stands for
};

namespace rondo::standin {

using Event = CUevent_st;

}  // namespace rondo::standin
