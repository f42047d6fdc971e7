// CUDA graphs: what streams are given is recorded once and launched as often as wanted. The device's context is
// current where they are used. Any thread; a capture may be begun by one thread and ended by another.
#pragma once

#include "base/status.h"
#include "gpu/stream.h"

struct CUgraphExec_st;

namespace rondo::gpu {

/// From now on the stream's work is recorded rather than done; likewise that of streams which wait for an event
/// of it, until it has waited for one of theirs.
Status begin_capture(Stream stream);

/// A recorded graph, ready to be launched.
class Graph {
 public:
  /// Ends what begin_capture() began on the stream.
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
