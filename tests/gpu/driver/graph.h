// SPDX-License-Identifier: Apache-2.0
// Graphs, and the captures of streams that create them. Guarded by Driver::mutex.
#pragma once

#include <cuda.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "stream.h"

namespace rondo::standin {

/// Makes a node's operation for one launch of its graph; called at each launch.
using Bind = std::function<Operation()>;

}  // namespace rondo::standin

struct CUgraphNode_st {
  CUgraphNodeType type;
  rondo::standin::Bind bind;
  std::vector<CUgraphNode> dependencies;
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  // in capture order
  std::vector<std::shared_ptr<CUuserObject_st>> user_objects;
};

struct CUgraphExec_st {
  std::vector<rondo::standin::Bind> nodes;
  std::vector<std::shared_ptr<CUuserObject_st>> user_objects;
  rondo::standin::CompletionPtr last;  // launches are serialized, whatever their streams
};

namespace rondo::standin {

struct Capture {
  uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  bool valid = true;
  bool over = false;
  Stream* origin = nullptr;
  std::vector<StreamPtr> streams;  // the origin and the streams that joined
  std::shared_ptr<CUgraph_st> graph;
};

/// Adds the nodes of `more` that `nodes` lacks.
void unite(std::vector<CUgraphNode>& nodes, const std::vector<CUgraphNode>& more);

/// Adds a node after the tail of a capturing stream and makes it the new tail.
CUresult capture_node(Stream& stream, CUgraphNodeType type, Bind bind);
void join_capture(Stream& stream, const std::shared_ptr<Capture>& capture,
                  const std::vector<CUgraphNode>& nodes);
/// The stream is being destroyed.
void leave_capture(Stream& stream);

/// Checks a call that a capture of this or another thread may forbid; if so, it invalidates that capture.
CUresult check_unsafe();
/// Checks a use of a stream, such as waiting for it, that its own capture forbids.
CUresult check_not_capturing(Stream& stream);
/// Checks a use of the legacy stream, which is forbidden while a blocking stream captures.
CUresult check_legacy(const Stream& stream);
/// Whether a blocking stream of the legacy stream's context is capturing.
bool legacy_conflicts(const Stream& stream);
/// Checks a wait for a whole context.
CUresult check_context_not_capturing(const Context& context);

}  // namespace rondo::standin
