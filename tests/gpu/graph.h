// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "processes.h"

namespace rondo::test {

/// A graph captured from a stream and instantiated.
class Graph {
 public:
  Graph(CUstream stream, const std::function<void()>& capture) : stream_(stream) {
    require_cu(CU(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), "cuStreamBeginCapture");
    capture();
    CUgraph graph = nullptr;
    require_cu(CU(cuStreamEndCapture)(stream, &graph), "cuStreamEndCapture");
    require_cu(CU(cuGraphInstantiate)(&exec_, graph, 0), "cuGraphInstantiate");
  }
  void replay() const { require_cu(CU(cuGraphLaunch)(exec_, stream_), "cuGraphLaunch"); }

 private:
  CUstream stream_;
  CUgraphExec exec_ = nullptr;
};

}  // namespace rondo::test
