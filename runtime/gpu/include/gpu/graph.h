// SPDX-License-Identifier: Apache-2.0
// CUDA graphs: work submitted to streams is recorded once and can be launched many times. The device's
// context must be current. Any thread; a capture may be begun by one thread and ended by another.
#pragma once

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
  Graph() = default;
  ~Graph();
  Graph(Graph&& other) noexcept;
  Graph& operator=(Graph&& other) noexcept;

  Status launch(Stream stream) const;

 private:
  CUgraphExec_st* graph_ = nullptr;
};

}  // namespace rondo::gpu
