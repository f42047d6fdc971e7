// SPDX-License-Identifier: Apache-2.0
// Capture of streams, and what it forbids.
#include <algorithm>
#include <set>

#include "graph.h"

namespace rondo::standin {
namespace {

CUstreamCaptureMode& mode_of_thread() {
  thread_local CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  return mode;
}

bool forbids_unsafe(const Capture& capture) {
  if (!capture.valid || capture.mode == CU_STREAM_CAPTURE_MODE_RELAXED) return false;
  if (capture.thread == std::this_thread::get_id()) return true;
  return mode_of_thread() == CU_STREAM_CAPTURE_MODE_GLOBAL && capture.mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

void add_ancestors(CUgraphNode node, std::set<CUgraphNode>& found) {
  std::vector<CUgraphNode> open{node};
  while (!open.empty()) {
    const CUgraphNode next = open.back();
    open.pop_back();
    if (!found.insert(next).second) continue;
    open.insert(open.end(), next->dependencies.begin(), next->dependencies.end());
  }
}

/// Whether the origin depends on every captured node.
bool all_joined(const Capture& capture) {
  std::set<CUgraphNode> joined;
  for (const CUgraphNode node : capture.origin->tail) add_ancestors(node, joined);
  return joined.size() == capture.graph->nodes.size();
}

void finish(Capture& capture) {
  capture.over = true;
  for (const StreamPtr& stream : capture.streams) {
    stream->capture = nullptr;
    stream->tail.clear();
  }
  auto& all = driver().captures;
  all.erase(std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.get() == &capture; }));
}

CUresult begin(CUstream handle, CUstreamCaptureMode mode) {
  StreamPtr stream;
  STANDIN_REQUIRE(mode <= CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE);
  STANDIN_TRY(find_stream(handle, stream));
  STANDIN_REQUIRE(!stream->legacy(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  STANDIN_REQUIRE(stream->capture == nullptr, CUDA_ERROR_ILLEGAL_STATE);
  auto capture = std::make_shared<Capture>();
  capture->id = driver().next_id();
  capture->mode = mode;
  capture->thread = std::this_thread::get_id();
  capture->origin = stream.get();
  capture->graph = std::make_shared<CUgraph_st>();
  driver().graphs.add(capture->graph);
  driver().captures.push_back(capture);
  join_capture(*stream, capture, {});
  return CUDA_SUCCESS;
}

CUresult end(CUstream handle, CUgraph* graph) {
  StreamPtr stream;
  STANDIN_REQUIRE(graph != nullptr, CUDA_ERROR_INVALID_VALUE);
  *graph = nullptr;
  STANDIN_TRY(find_stream(handle, stream));
  const std::shared_ptr<Capture> capture = stream->capture;
  STANDIN_REQUIRE(capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
  if (capture->origin != stream.get()) {
    capture->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  }
  const bool own_thread = capture->thread == std::this_thread::get_id();
  STANDIN_REQUIRE(own_thread || capture->mode == CU_STREAM_CAPTURE_MODE_RELAXED,
                  CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  const bool joined = !capture->valid || all_joined(*capture);
  finish(*capture);
  if (!capture->valid || !joined) driver().graphs.remove(capture->graph.get());
  STANDIN_REQUIRE(capture->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  STANDIN_REQUIRE(joined, CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  *graph = capture->graph.get();
  capture->graph = nullptr;  // events may keep the capture for a long time
  return CUDA_SUCCESS;
}

CUstreamCaptureStatus status_of(const Stream& stream) {
  if (stream.capture == nullptr) return CU_STREAM_CAPTURE_STATUS_NONE;
  return stream.capture->valid ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED;
}

/// Implements both forms of cuStreamGetCaptureInfo.
CUresult tell(CUstream handle, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
              const CUgraphNode** dependencies, size_t* count) {
  StreamPtr stream;
  STANDIN_REQUIRE(status != nullptr, CUDA_ERROR_INVALID_VALUE);
  STANDIN_TRY(find_stream(handle, stream));
  STANDIN_REQUIRE(!legacy_conflicts(*stream), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  *status = status_of(*stream);
  if (*status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return CUDA_SUCCESS;
  if (id != nullptr) *id = stream->capture->id;
  if (graph != nullptr) *graph = stream->capture->graph.get();
  if (dependencies != nullptr) *dependencies = stream->tail.data();
  if (count != nullptr) *count = stream->tail.size();
  return CUDA_SUCCESS;
}

}  // namespace

void unite(std::vector<CUgraphNode>& nodes, const std::vector<CUgraphNode>& more) {
  for (const CUgraphNode node : more)
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
}

CUresult capture_node(Stream& stream, CUgraphNodeType type, Bind bind) {
  Capture& capture = *stream.capture;
  STANDIN_REQUIRE(capture.valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  auto node = std::make_unique<CUgraphNode_st>(CUgraphNode_st{type, std::move(bind), stream.tail});
  stream.tail = {node.get()};
  capture.graph->nodes.push_back(std::move(node));
  return CUDA_SUCCESS;
}

void join_capture(Stream& stream, const std::shared_ptr<Capture>& capture,
                  const std::vector<CUgraphNode>& nodes) {
  capture->streams.push_back(stream.shared_from_this());
  stream.capture = capture;
  stream.tail = nodes;
}

void leave_capture(Stream& stream) {
  const std::shared_ptr<Capture> capture = stream.capture;
  capture->valid = false;
  if (capture->origin == &stream) {
    driver().graphs.remove(capture->graph.get());
    return finish(*capture);
  }
  std::erase_if(capture->streams, [&](const StreamPtr& one) { return one.get() == &stream; });
  stream.capture = nullptr;
}

CUresult check_unsafe() {
  if (mode_of_thread() == CU_STREAM_CAPTURE_MODE_RELAXED) return CUDA_SUCCESS;
  bool forbidden = false;
  for (const auto& capture : driver().captures) {
    if (!forbids_unsafe(*capture)) continue;
    capture->valid = false;
    forbidden = true;
  }
  return forbidden ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

CUresult check_not_capturing(Stream& stream) {
  if (stream.capture == nullptr) return check_legacy(stream);
  stream.capture->valid = false;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

bool legacy_conflicts(const Stream& stream) {
  if (!stream.legacy()) return false;
  for (const StreamPtr& other : stream.context->streams)
    if (other->blocking() && other->capture != nullptr) return true;
  return false;
}

CUresult check_legacy(const Stream& stream) {
  if (!legacy_conflicts(stream)) return CUDA_SUCCESS;
  for (const StreamPtr& other : stream.context->streams)
    if (other->blocking() && other->capture != nullptr) other->capture->valid = false;
  return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
}

CUresult check_context_not_capturing(const Context& context) {
  bool captures = false;
  for (const StreamPtr& stream : context.streams) {
    if (stream->capture == nullptr) continue;
    stream->capture->valid = false;
    captures = true;
  }
  return captures ? CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED : CUDA_SUCCESS;
}

}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode) {
  return call(__func__, [&](Lock&) { return begin(stream, mode); });
}

CUresult cuStreamEndCapture(CUstream stream, CUgraph* graph) {
  return call(__func__, [&](Lock&) { return end(stream, graph); });
}

CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  return call(__func__, [&](Lock&) {
    STANDIN_REQUIRE(mode != nullptr && *mode <= CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_INVALID_VALUE);
    std::swap(*mode, mode_of_thread());
    return CUDA_SUCCESS;
  });
}

CUresult cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus* status) {
  return call(__func__, [&](Lock&) { return tell(stream, status, nullptr, nullptr, nullptr, nullptr); });
}

CUresult cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id,
                                CUgraph* graph, const CUgraphNode** dependencies,
                                const CUgraphEdgeData** edges, size_t* count) {
  return call(__func__, [&](Lock&) {
    if (edges != nullptr) *edges = nullptr;  // all edges are plain
    return tell(stream, status, id, graph, dependencies, count);
  });
}

/// CUDA 12.0's version, without the edges. cuda.h declares it only for the driver's own use.
extern "C" __attribute__((visibility("default"))) CUresult cuStreamGetCaptureInfo_v2(
    CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph,
    const CUgraphNode** dependencies, size_t* count) {
  return call(__func__, [&](Lock&) { return tell(stream, status, id, graph, dependencies, count); });
}

CUresult cuStreamUpdateCaptureDependencies(CUstream handle, CUgraphNode* nodes, const CUgraphEdgeData*,
                                           size_t count, unsigned flags) {
  return call(__func__, [&](Lock&) {
    StreamPtr stream;
    STANDIN_TRY(find_stream(handle, stream));
    STANDIN_REQUIRE(flags <= CU_STREAM_SET_CAPTURE_DEPENDENCIES, CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE(stream->capture != nullptr, CUDA_ERROR_ILLEGAL_STATE);
    STANDIN_REQUIRE(stream->capture->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES) stream->tail.clear();
    unite(stream->tail, {nodes, nodes + count});
    return CUDA_SUCCESS;
  });
}
