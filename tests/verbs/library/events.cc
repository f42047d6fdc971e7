// SPDX-License-Identifier: Apache-2.0
// Asynchronous events.
#include <unistd.h>

#include <cerrno>

#include "queue_pair.h"

namespace rondo::fabric {
namespace {

bool is_of_queue_pair(ibv_event_type type) {
  return type == IBV_EVENT_QP_FATAL || type == IBV_EVENT_QP_REQ_ERR || type == IBV_EVENT_QP_ACCESS_ERR;
}

template <class Object>
Object* object_of(const Event& event) {
  return reinterpret_cast<Object*>(event.owner);  // NOLINT(performance-no-int-to-ptr)
}

template <class Object>
void count(Object& object) {
  ::pthread_mutex_lock(&object.mutex);
  ++object.async_delivered;
  ::pthread_mutex_unlock(&object.mutex);
}

}  // namespace
}  // namespace rondo::fabric

using namespace rondo::fabric;

EXPORTED int ibv_get_async_event(ibv_context* handle, ibv_async_event* result) {
  context_of(handle);
  Event event{};
  ssize_t got = 0;
  do got = ::read(handle->async_fd, &event, sizeof event);
  while (got < 0 && errno == EINTR);
  if (got != sizeof event) return -1;
  *result = {};
  result->event_type = static_cast<ibv_event_type>(event.type);
  if (result->event_type == IBV_EVENT_CQ_ERR) {
    auto* const queue = object_of<UserCompletionQueue>(event);
    count(*queue);
    result->element.cq = queue;
  } else if (is_of_queue_pair(result->event_type)) {
    auto* const pair = object_of<UserQueuePair>(event);
    count(*pair);
    result->element.qp = pair;
  } else {
    result->element.port_num = static_cast<int>(event.port);
  }
  return 0;
}

EXPORTED void ibv_ack_async_event(ibv_async_event* event) {
  if (event->event_type == IBV_EVENT_CQ_ERR) {
    ibv_cq& queue = *event->element.cq;
    ::pthread_mutex_lock(&queue.mutex);
    ++queue.async_events_completed;
    ::pthread_cond_signal(&queue.cond);
    ::pthread_mutex_unlock(&queue.mutex);
  } else if (is_of_queue_pair(event->event_type)) {
    ibv_qp& pair = *event->element.qp;
    ::pthread_mutex_lock(&pair.mutex);
    ++pair.events_completed;
    ::pthread_cond_signal(&pair.cond);
    ::pthread_mutex_unlock(&pair.mutex);
  }
}
