// SPDX-License-Identifier: Apache-2.0
// The C API's queues and events.
#include "handles.h"

namespace {

using namespace rondo;
using api::guarded;
using api::guarded_for_thread;
using api::HandlePool;

Result<Queue*> needed_queue(rondo_stream_t queue) {
  if (queue == nullptr) return api::null_argument("queue");
  return api::queue_of(queue);
}

}  // namespace

rondo_status_t rondo_queue_create(rondo_stream_t* queue) {
  return guarded("rondo_queue_create", nullptr, [&]() -> Status {
    if (queue == nullptr) return api::null_argument("queue");
    *queue = nullptr;
    auto made = std::make_unique<Queue>();
    *queue = HandlePool<rondo_stream>::get().take();
    (*queue)->queue = std::move(made);
    (*queue)->mark = api::kStreamMark;
    return {};
  });
}

rondo_status_t rondo_queue_synchronize(rondo_stream_t queue) {
  return guarded_for_thread("rondo_queue_synchronize", [&]() -> Status {
    RONDO_TRY_ASSIGN(Queue * known, needed_queue(queue));
    return known->synchronize();
  });
}

rondo_status_t rondo_queue_query(rondo_stream_t queue) {
  return guarded_for_thread("rondo_queue_query", [&]() -> Status {
    RONDO_TRY_ASSIGN(Queue * known, needed_queue(queue));
    return known->query();
  });
}

rondo_status_t rondo_queue_destroy(rondo_stream_t queue) {
  if (queue == nullptr) return RONDO_OK;
  return guarded_for_thread("rondo_queue_destroy", [&]() -> Status {
    RONDO_TRY_ASSIGN(Queue * known, needed_queue(queue));
    const Status status = known->synchronize();
    queue->mark = 0;
    queue->queue.reset();
    HandlePool<rondo_stream>::get().give_back(queue);
    return status;
  });
}

rondo_status_t rondo_event_create(rondo_event_t* event) {
  return guarded("rondo_event_create", nullptr, [&]() -> Status {
    if (event == nullptr) return api::null_argument("event");
    *event = nullptr;
    auto made = std::make_unique<QueueEvent>();
    *event = HandlePool<rondo_event>::get().take();
    (*event)->event = std::move(made);
    (*event)->mark = api::kEventMark;
    return {};
  });
}

rondo_status_t rondo_event_record(rondo_event_t event, rondo_stream_t queue) {
  return guarded("rondo_event_record", nullptr, [&]() -> Status {
    RONDO_TRY(api::check_event(event));
    RONDO_TRY_ASSIGN(Queue * known, needed_queue(queue));
    event->event->record(*known);
    return {};
  });
}

rondo_status_t rondo_queue_wait_event(rondo_stream_t queue, rondo_event_t event) {
  return guarded("rondo_queue_wait_event", nullptr, [&]() -> Status {
    RONDO_TRY(api::check_event(event));
    RONDO_TRY_ASSIGN(Queue * known, needed_queue(queue));
    event->event->hold(*known);
    return {};
  });
}

rondo_status_t rondo_event_query(rondo_event_t event) {
  return guarded("rondo_event_query", nullptr, [&]() -> Status {
    RONDO_TRY(api::check_event(event));
    return event->event->complete() ? Status() : Status(Code::InProgress, "the event is not complete yet");
  });
}

rondo_status_t rondo_event_synchronize(rondo_event_t event) {
  return guarded("rondo_event_synchronize", nullptr, [&]() -> Status {
    RONDO_TRY(api::check_event(event));
    event->event->synchronize();
    return {};
  });
}

rondo_status_t rondo_event_destroy(rondo_event_t event) {
  if (event == nullptr) return RONDO_OK;
  return guarded("rondo_event_destroy", nullptr, [&]() -> Status {
    RONDO_TRY(api::check_event(event));
    event->mark = 0;
    event->event.reset();
    HandlePool<rondo_event>::get().give_back(event);
    return {};
  });
}
