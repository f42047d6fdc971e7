// SPDX-License-Identifier: Apache-2.0
// Event calls.
#include "event.h"

#include "graph.h"

namespace rondo::standin {
namespace {

constexpr unsigned kKnownFlags = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;

CUresult find_event(CUevent handle, std::shared_ptr<Event>& found) {
  Context* context = nullptr;
  STANDIN_TRY(use_context(context));
  found = driver().events.find(handle);
  STANDIN_REQUIRE(found != nullptr, CUDA_ERROR_INVALID_HANDLE);
  return static_cast<CUresult>(found->context->error.load());
}

Operation stamp(const std::shared_ptr<Record>& record) {
  return [record] { record->at = std::chrono::steady_clock::now(); };
}

/// A node that records the event again at each launch.
Bind bind_record(const std::shared_ptr<Event>& event) {
  return [event]() -> Operation {
    auto record = std::make_shared<Record>();
    record->done = std::make_shared<Completion>();
    event->record = record;
    return [record] {
      record->at = std::chrono::steady_clock::now();
      record->done->finish();
    };
  };
}

/// A node that waits for the recording that is the latest when the graph is launched.
Bind bind_wait(const std::shared_ptr<Event>& event) {
  return [event]() -> Operation {
    return [record = event->record] {
      if (record != nullptr) record->done->wait();
    };
  };
}

CUresult record(CUevent event_handle, CUstream stream_handle, unsigned flags) {
  std::shared_ptr<Event> event;
  StreamPtr stream;
  STANDIN_TRY(find_event(event_handle, event));
  STANDIN_TRY(find_stream(stream_handle, stream));
  STANDIN_REQUIRE(event->context == stream->context, CUDA_ERROR_INVALID_HANDLE);
  const bool external = (flags & CU_EVENT_RECORD_EXTERNAL) != 0;
  if (stream->capture != nullptr) {
    if (external) return capture_node(*stream, CU_GRAPH_NODE_TYPE_EVENT_RECORD, bind_record(event));
    STANDIN_REQUIRE(stream->capture->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    event->capture = stream->capture;
    event->nodes = stream->tail;
    return CUDA_SUCCESS;
  }
  STANDIN_REQUIRE(!external, CUDA_ERROR_INVALID_VALUE);
  STANDIN_TRY(check_legacy(*stream));
  auto made = std::make_shared<Record>();
  made->done = enqueue(*stream, stamp(made));
  event->record = std::move(made);
  event->capture = nullptr;
  event->nodes.clear();
  return CUDA_SUCCESS;
}

CUresult wait_in_capture(Stream& stream, const std::shared_ptr<Event>& event, bool external) {
  Capture& capture = *stream.capture;
  STANDIN_REQUIRE(capture.valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  if (external) return capture_node(stream, CU_GRAPH_NODE_TYPE_WAIT_EVENT, bind_wait(event));
  if (event->capture == stream.capture) {
    unite(stream.tail, event->nodes);
    return CUDA_SUCCESS;
  }
  capture.valid = false;
  if (event->capture == nullptr || event->capture->over) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  event->capture->valid = false;
  return CUDA_ERROR_STREAM_CAPTURE_MERGE;
}

/// The stream, not capturing itself, waits for a captured event: it joins that capture.
CUresult wait_for_captured(Stream& stream, const Event& event) {
  STANDIN_REQUIRE(!event.capture->over, CUDA_ERROR_CAPTURED_EVENT);
  STANDIN_REQUIRE(event.capture->valid, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  if (stream.legacy()) {
    event.capture->valid = false;
    return CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  }
  join_capture(stream, event.capture, event.nodes);
  return CUDA_SUCCESS;
}

CUresult check_not_captured(Event& event) {
  if (event.capture == nullptr) return CUDA_SUCCESS;
  event.capture->valid = false;
  return CUDA_ERROR_CAPTURED_EVENT;
}

}  // namespace
}  // namespace rondo::standin

using namespace rondo::standin;

CUresult cuEventCreate(CUevent* event, unsigned flags) {
  return call(__func__, [&](Lock&) {
    Context* context = nullptr;
    STANDIN_REQUIRE(event != nullptr && (flags & ~kKnownFlags) == 0, CUDA_ERROR_INVALID_VALUE);
    STANDIN_REQUIRE((flags & CU_EVENT_INTERPROCESS) == 0 || (flags & CU_EVENT_DISABLE_TIMING) != 0,
                    CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(use_context(context));
    auto made = std::make_shared<Event>();
    made->context = context;
    made->flags = flags;
    *event = driver().events.add(std::move(made));
    return CUDA_SUCCESS;
  });
}

CUresult cuEventDestroy(CUevent handle) {
  return call(__func__, [&](Lock&) {
    std::shared_ptr<Event> event;
    STANDIN_TRY(find_event(handle, event));
    driver().events.remove(handle);
    return CUDA_SUCCESS;
  });
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return call(__func__, [&](Lock&) { return record(event, stream, CU_EVENT_RECORD_DEFAULT); });
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return call(__func__, [&](Lock&) { return record(event, stream, flags); });
}

CUresult cuStreamWaitEvent(CUstream stream_handle, CUevent event_handle, unsigned flags) {
  return call(__func__, [&](Lock&) {
    std::shared_ptr<Event> event;
    StreamPtr stream;
    STANDIN_TRY(find_event(event_handle, event));
    STANDIN_TRY(find_stream(stream_handle, stream));
    const bool external = (flags & CU_EVENT_WAIT_EXTERNAL) != 0;
    if (stream->capture != nullptr) return wait_in_capture(*stream, event, external);
    STANDIN_REQUIRE(!external, CUDA_ERROR_INVALID_VALUE);
    if (event->capture != nullptr) return wait_for_captured(*stream, *event);
    STANDIN_TRY(check_legacy(*stream));
    if (event->record != nullptr) enqueue(*stream, nullptr, {event->record->done});
    return CUDA_SUCCESS;
  });
}

CUresult cuEventQuery(CUevent handle) {
  return call(__func__, [&](Lock&) {
    std::shared_ptr<Event> event;
    STANDIN_TRY(find_event(handle, event));
    STANDIN_TRY(check_not_captured(*event));
    STANDIN_TRY(check_unsafe());
    return event->record == nullptr || event->record->done->done() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult cuEventSynchronize(CUevent handle) {
  return call(__func__, [&](Lock& lock) {
    std::shared_ptr<Event> event;
    STANDIN_TRY(find_event(handle, event));
    STANDIN_TRY(check_not_captured(*event));
    STANDIN_TRY(check_unsafe());
    if (event->record != nullptr) wait_unlocked(lock, {event->record->done});
    return static_cast<CUresult>(event->context->error.load());
  });
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent start_handle, CUevent end_handle) {
  return call(__func__, [&](Lock&) {
    std::shared_ptr<Event> start;
    std::shared_ptr<Event> end;
    STANDIN_REQUIRE(milliseconds != nullptr, CUDA_ERROR_INVALID_VALUE);
    STANDIN_TRY(find_event(start_handle, start));
    STANDIN_TRY(find_event(end_handle, end));
    for (const auto& event : {start, end}) {
      STANDIN_TRY(check_not_captured(*event));
      STANDIN_REQUIRE((event->flags & CU_EVENT_DISABLE_TIMING) == 0, CUDA_ERROR_INVALID_HANDLE);
      STANDIN_REQUIRE(event->record != nullptr, CUDA_ERROR_INVALID_HANDLE);
      STANDIN_REQUIRE(event->record->done->done(), CUDA_ERROR_NOT_READY);
    }
    *milliseconds = std::chrono::duration<float, std::milli>(end->record->at - start->record->at).count();
    return CUDA_SUCCESS;
  });
}

#ifdef cuEventElapsedTime
#undef cuEventElapsedTime
/// The first version, with the same result here.
extern "C" __attribute__((visibility("default"))) CUresult cuEventElapsedTime(float* milliseconds,
                                                                              CUevent start, CUevent end) {
  return cuEventElapsedTime_v2(milliseconds, start, end);
}
#endif
