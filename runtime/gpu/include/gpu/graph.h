// SPDX-License-Identifier: Apache-2.0
// CUDA graphs: work submitted to streams is recorded once and can be launched many times. The device's
// context must be current. Any thread; a capture may be begun by one thread and ended by another.
#pragma once

#include <memory>

#include "base/status.h"
#include "gpu/stream.h"

struct CUgraphExec_st;

namespace rondo::gpu {

/// From now on the stream's work is recorded instead of executed. The same applies to streams that wait for
/// one of its events, until it has waited for one of theirs.
Status begin_capture(Stream stream);

/// A recorded graph, ready to be launched.
class Graph {
 public:
  /// Ends the capture that begin_capture() began on the stream.
  static Result<Graph> end_capture(Stream stream);

  Status launch(Stream stream) const;

 private:
  struct DestroyGraph {
    void operator()(CUgraphExec_st* graph) const;
  };
  std::unique_ptr<CUgraphExec_st, DestroyGraph> graph_;
};

}  // namespace rondo::gpu
