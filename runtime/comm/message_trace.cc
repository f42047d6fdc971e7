// SPDX-License-Identifier: Apache-2.0
#include "message_trace.h"

#include <memory>
#include <variant>

#include "health/trace.h"

namespace rondo {
namespace {

TraceRecord record_of(const Communicator& communicator, int64_t began_ns, const Status& status,
                      bool on_stream) {
  return {.began_ns = began_ns,
          .ended_ns = now_ns(),
          .track = communicator.membership().recorder().track(),
          .state = !status.ok() ? TraceState::Failed
                   : on_stream  ? TraceState::OnStream
                                : TraceState::Done};
}

}  // namespace

void trace_message(const Communicator& communicator, const SendRequest& request, const Status& status,
                   bool on_stream) {
  TraceRecord record = record_of(communicator, request.began_ns, status, on_stream);
  record.kind = TraceKind::Send;
  record.bytes = request.bytes;
  record.message = request.id;
  record.type_bytes = request.type_bytes;
  record.peer = request.peer;
  record.tag = request.tag;
  add_to_trace(record);
}

void trace_message(const Communicator& communicator, const RecvRequest& request, const Status& status,
                   bool on_stream) {
  TraceRecord record = record_of(communicator, request.began_ns, status, on_stream);
  const bool has_come = status.ok() && request.source != kAny;
  record.kind = TraceKind::Receive;
  record.bytes = has_come ? request.bytes : request.capacity;
  record.message = request.number;
  record.type_bytes = request.type_bytes;
  record.peer = has_come ? request.source : request.peer;
  record.tag = has_come ? request.got_tag : request.tag;
  add_to_trace(record);
}

void trace(const GroupOp& op, const Status& status) {
  // Not std::visit(), which may throw.
  const auto* const send = std::get_if<std::shared_ptr<SendRequest>>(&op.what);
  const auto* const receive = std::get_if<std::shared_ptr<RecvRequest>>(&op.what);
  if (send != nullptr && (*send)->began_ns != 0)
    trace_message(*op.communicator, **send, status, op.place.on_stream);
  if (receive != nullptr && (*receive)->began_ns != 0)
    trace_message(*op.communicator, **receive, status, op.place.on_stream);
}

}  // namespace rondo
