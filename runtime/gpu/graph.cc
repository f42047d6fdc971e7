// SPDX-License-Identifier: Apache-2.0
#include "gpu/graph.h"

#include "driver.h"

namespace rondo::gpu {

Status begin_capture(Stream stream) {
  RONDO_TRY_ASSIGN(const Driver* cuda, driver());
  // Relaxed: other threads record into the same graph and may make any other CUDA calls meanwhile.
  return outcome(cuda->cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_RELAXED),
                 "beginning to capture a graph");
}

Result<Graph> Graph::end_capture(Stream stream) {
  const Driver& cuda = *driver().value();
  CUgraph recorded = nullptr;
  RONDO_TRY(outcome(cuda.cuStreamEndCapture(stream, &recorded), "capturing a graph"));
  CUgraphExec instance = nullptr;
  const CUresult made = cuda.cuGraphInstantiate(&instance, recorded, 0);
  cuda.cuGraphDestroy(recorded);
  RONDO_TRY(outcome(made, "instantiating a graph"));
  Graph graph;
  graph.graph_.reset(instance);
  return graph;
}

void Graph::DestroyGraph::operator()(CUgraphExec_st* graph) const {
  driver().value()->cuGraphExecDestroy(graph);
}

Status Graph::launch(Stream stream) const {
  return outcome(driver().value()->cuGraphLaunch(graph_.get(), stream), "launching a graph");
}

}  // namespace rondo::gpu
