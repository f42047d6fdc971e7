// Graphs, and the captures of streams that make them. Guarded by Driver::mutex.
#pragma once

#include <cuda.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "stream.h"

namespace rondo::standin {

/// What a node does in one launch of its graph; called at each launch.
using Bind = std::function<Operation()>;

}  // namespace rondo::standin

struct CUgraphNode_st {
  CUgraphNodeType type;
  rondo::standin::Bind bind;
  std::vector<CUgraphNode> dependencies;
};

struct CUgraph_st {
  std::vector<std::unique_ptr<CUgraphNode_st>> nodes;  // in the order of their capture
  std::vector<std::shared_ptr<CUuserObject_st>> user_objects;
};

struct CUgraphExec_st {
  std::vector<rondo::standin::Bind> nodes;
  std::vector<std::shared_ptr<CUuserObject_st>> user_objects;
  rondo::standin::CompletionPtr last;  // launches come one after the other, whatever their streams
};

namespace rondo::standin {

struct Capture {
  uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  bool valid = true;
  bool over = false;
  Stream* origin = nullptr;
  std::vector<StreamPtr> streams;  // the origin and those that joined
  std::shared_ptr<CUgraph_st> graph;
};

/// Adds what two lists of nodes have between them.
void unite(std::vector<CUgraphNode>& nodes, const std::vector<CUgraphNode>& more);

/// A node behind the stream's tail, which it becomes. The stream captures.
CUresult capture_node(Stream& stream, CUgraphNodeType type, Bind bind);
void join_capture(Stream& stream, const std::shared_ptr<Capture>& capture,
                  const std::vector<CUgraphNode>& nodes);
/// The stream is destroyed.
void leave_capture(Stream& stream);

/// A call that a capture of this or another thread may forbid: it then ends that capture's validity.
CUresult check_unsafe();
/// Use of a stream that the stream's capture forbids, waiting for it, say.
CUresult check_not_capturing(Stream& stream);
/// Use of the legacy stream, which no blocking stream's capture can have.
CUresult check_legacy(const Stream& stream);
/// Whether a blocking stream of the legacy stream's context captures.
bool legacy_conflicts(const Stream& stream);
/// Waiting for a whole context.
CUresult check_context_not_capturing(const Context& context);

}  // namespace rondo::standin
