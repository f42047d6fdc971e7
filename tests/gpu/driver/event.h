// Events. Guarded by Driver::mutex.
#pragma once

#include <cuda.h>

#include <chrono>
#include <memory>
#include <vector>

#include "stream.h"

namespace rondo::standin {

/// One recording of an event. `at` is there once it is done.
struct Record {
  CompletionPtr done;
  std::chrono::steady_clock::time_point at;
};

}  // namespace rondo::standin

struct CUevent_st {
  CUcontext context = nullptr;
  unsigned flags = 0;
  std::shared_ptr<rondo::standin::Record> record;    // null: never recorded
  std::shared_ptr<rondo::standin::Capture> capture;  // that the last recording was in
  std::vector<CUgraphNode> nodes;                    // of that capture, which it stands for
};

namespace rondo::standin {

using Event = CUevent_st;

}  // namespace rondo::standin
