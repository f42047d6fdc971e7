// SPDX-License-Identifier: Apache-2.0
// Captured graphs and their launches: all nodes run in capture order, as one item.
#include "graph.h"

#include "delays.h"
#include "user_object.h"

namespace rondo::standin {
namespace {

/// One launch.
Operation bound(const std::shared_ptr<CUgraphExec_st>& exec) {
  std::vector<Operation> operations;
  for (const Bind& node : exec->nodes) operations.push_back(node());
  Delays delays(driver().settings.seed, driver().next_id());
  return [exec, delays, operations = std::move(operations)]() mutable {
    for (const Operation& operation : operations) {
      delays.pause();
      operation();
    }
  };
}

}  // namespace
}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuGraphInstantiate(CUgraphExec* exec, CUgraph graph, unsigned long long) {
  return call(__func__, [&](Lock&) {
    const auto from = driver().graphs.find(graph);
    STANDIN_REQUIRE(exec != nullptr && from != nullptr, CUDA_ERROR_INVALID_VALUE);
    auto made = std::make_shared<CUgraphExec_st>();
    for (const auto& node : from->nodes) made->nodes.push_back(node->bind);
    made->user_objects = from->user_objects;
    *exec = driver().execs.add(std::move(made));
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphUpload(CUgraphExec exec, CUstream) {
  return call(__func__, [&](Lock&) {
    return driver().execs.find(exec) == nullptr ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
  });
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream_handle) {
  return call(__func__, [&](Lock&) {
    StreamPtr stream;
    const auto exec = driver().execs.find(handle);
    STANDIN_REQUIRE(exec != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(find_stream(stream_handle, stream));
    if (stream->capture != nullptr)
      return capture_node(*stream, CU_GRAPH_NODE_TYPE_GRAPH, [exec] { return bound(exec); });
    STANDIN_TRY(check_legacy(*stream));
    exec->last = enqueue(*stream, bound(exec), {exec->last});
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphExecDestroy(CUgraphExec exec) {
  return call(__func__,
              [&](Lock&) { return driver().execs.remove(exec) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; });
}

CUresult cuGraphDestroy(CUgraph graph) {
  return call(__func__,
              [&](Lock&) { return driver().graphs.remove(graph) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE; });
}

CUresult cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return call(__func__, [&](Lock&) {
    const auto from = driver().graphs.find(graph);
    STANDIN_REQUIRE(from != nullptr && count != nullptr, CUDA_ERROR_INVALID_VALUE);
    if (nodes == nullptr) {
      *count = from->nodes.size();
      return CUDA_SUCCESS;
    }
    for (size_t i = 0; i < *count; ++i) nodes[i] = i < from->nodes.size() ? from->nodes[i].get() : nullptr;
    if (*count > from->nodes.size()) *count = from->nodes.size();
    return CUDA_SUCCESS;
  });
}

CUresult cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(node != nullptr && type != nullptr, CUDA_ERROR_INVALID_VALUE);
    *type = node->type;
    return CUDA_SUCCESS;
  });
}
