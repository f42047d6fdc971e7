// The C API's sends and receives.
#include "comm/gpu_calls.h"
#include "comm/group.h"
#include "comm/placement.h"
#include "comm/types.h"
#include "handles.h"

namespace {

using namespace rondo;
using api::guarded;
using api::HandlePool;

Status check_message(const Communicator& communicator, const void* buf, size_t count, const CallType& type,
                     int peer, int tag, bool any) {
  const int least = any ? RONDO_ANY_SOURCE : 0;
  if (peer < least || peer >= communicator.size())
    return error(Code::InvalidArgument, "peer is {}: it must be from 0 to {}{}", peer,
                 communicator.size() - 1, any ? ", or RONDO_ANY_SOURCE" : "");
  if (tag < least)
    return error(Code::InvalidArgument, "tag is {}: it must be at least 0{}", tag,
                 any ? ", or RONDO_ANY_TAG" : "");
  if (count > SIZE_MAX / 2 / type.bytes)
    return error(Code::InvalidArgument, "count is {}, more than memory can hold", count);
  if (count != 0 && buf == nullptr) return api::null_argument("buf");
  return {};
}

Status find_place(Communicator& communicator, const Extent& buffer, CallPlace& place) {
  if (!communicator.gpu_calls().may_see_memory() && !place.on_stream) return {};
  return api::unless_lost(communicator, place_message(place, buffer, communicator.device()));
}

/// What every send and receive gives.
struct Message {
  const void* buf;  // of a send
  size_t count;
  rondo_type_t type;
  int peer;
  int tag;
  rondo_stream_t stream;
};

Result<Item> send_item(rondo_comm_t comm, const Message& message) {
  RONDO_TRY_ASSIGN(Communicator * communicator, api::live(comm));
  CallPlace place;
  RONDO_TRY_ASSIGN(Queue * queue, api::place_of(message.stream, place));
  RONDO_TRY_ASSIGN(const CallType known, find_type(message.type));
  RONDO_TRY(
      check_message(*communicator, message.buf, message.count, known, message.peer, message.tag, false));
  const auto* data = static_cast<const std::byte*>(message.buf);
  RONDO_TRY(find_place(*communicator, {data, message.count * known.bytes}, place));
  auto request = std::make_shared<SendRequest>();
  request->data = data;
  request->bytes = message.count * known.bytes;
  request->type_bytes = known.bytes;
  request->peer = message.peer;
  request->tag = message.tag;
  return Item{communicator, std::move(request), queue, {}, place};
}

Result<Item> recv_item(rondo_comm_t comm, void* buf, const Message& message, rondo_receipt_t* receipt) {
  RONDO_TRY_ASSIGN(Communicator * communicator, api::live(comm));
  CallPlace place;
  RONDO_TRY_ASSIGN(Queue * queue, api::place_of(message.stream, place));
  RONDO_TRY_ASSIGN(const CallType known, find_type(message.type));
  RONDO_TRY(check_message(*communicator, buf, message.count, known, message.peer, message.tag, true));
  if (place.on_stream && receipt != nullptr)
    return Status(Code::InvalidArgument,
                  "receipt must be NULL on a CUDA stream: nothing has been received when the call returns");
  auto* data = static_cast<std::byte*>(buf);
  RONDO_TRY(find_place(*communicator, {data, message.count * known.bytes}, place));
  auto request = std::make_shared<RecvRequest>();
  request->data = data;
  request->capacity = message.count * known.bytes;
  request->type_bytes = known.bytes;
  request->peer = message.peer;
  request->tag = message.tag;
  std::function<void()> finish;
  if (receipt != nullptr)
    finish = [request, receipt] {
      *receipt = {request->source, request->got_tag, request->bytes / request->type_bytes};
    };
  return Item{communicator, std::move(request), queue, std::move(finish), place};
}

Status start_request(Result<Item> item, rondo_request_t* request) {
  if (request == nullptr) return api::null_argument("request");
  *request = nullptr;
  RONDO_TRY(item.status());
  RONDO_TRY(refuse_in_group("starting a message"));
  const std::shared_ptr<Requests> requests = item.value().communicator->requests();
  auto started = requests->start(item.take());
  *request = HandlePool<rondo_request>::get().take();
  **request = {api::kRequestMark, requests, std::move(started)};
  return {};
}

Status check_request(rondo_request_t request) {
  if (request == nullptr) return api::null_argument("request");
  if (request->mark != api::kRequestMark)
    return Status(Code::InvalidArgument,
                  "request is not one from rondo_isend() or rondo_irecv(), or it was freed");
  return {};
}

}  // namespace

rondo_status_t rondo_send(const void* buf, size_t count, rondo_type_t type, int peer, int tag,
                          rondo_comm_t comm, rondo_stream_t stream) {
  return guarded("rondo_send", comm, [&]() -> Status {
    RONDO_TRY_ASSIGN(Item item, send_item(comm, {buf, count, type, peer, tag, stream}));
    return submit(std::move(item));
  });
}

rondo_status_t rondo_recv(void* buf, size_t count, rondo_type_t type, int peer, int tag, rondo_comm_t comm,
                          rondo_stream_t stream, rondo_receipt_t* receipt) {
  return guarded("rondo_recv", comm, [&]() -> Status {
    RONDO_TRY_ASSIGN(Item item, recv_item(comm, buf, {nullptr, count, type, peer, tag, stream}, receipt));
    return submit(std::move(item));
  });
}

rondo_status_t rondo_isend(const void* buf, size_t count, rondo_type_t type, int peer, int tag,
                           rondo_comm_t comm, rondo_request_t* request) {
  return guarded("rondo_isend", comm, [&] {
    return start_request(send_item(comm, {buf, count, type, peer, tag, nullptr}), request);
  });
}

rondo_status_t rondo_irecv(void* buf, size_t count, rondo_type_t type, int peer, int tag, rondo_comm_t comm,
                           rondo_receipt_t* receipt, rondo_request_t* request) {
  return guarded("rondo_irecv", comm, [&] {
    return start_request(recv_item(comm, buf, {nullptr, count, type, peer, tag, nullptr}, receipt), request);
  });
}

rondo_status_t rondo_request_wait(rondo_request_t request, int64_t timeout_ms) {
  return guarded("rondo_request_wait", nullptr, [&]() -> Status {
    RONDO_TRY(check_request(request));
    if (timeout_ms < 0)
      return error(Code::InvalidArgument, "timeout_ms is {}: it must be at least 0", timeout_ms);
    return request->requests->wait(*request->request, timeout_ms);
  });
}

rondo_status_t rondo_request_query(rondo_request_t request) {
  return guarded("rondo_request_query", nullptr, [&]() -> Status {
    RONDO_TRY(check_request(request));
    return request->requests->query(*request->request);
  });
}

rondo_status_t rondo_request_tell(rondo_request_t request, rondo_request_fn fn, void* user) {
  return guarded("rondo_request_tell", nullptr, [&]() -> Status {
    RONDO_TRY(check_request(request));
    if (fn == nullptr) return api::null_argument("fn");
    request->requests->tell(*request->request, [fn, user](const Status& status) {
      fn(static_cast<rondo_status_t>(status.code()), status.message().c_str(), user);
    });
    return {};
  });
}

rondo_status_t rondo_request_free(rondo_request_t request) {
  if (request == nullptr) return RONDO_OK;
  return guarded("rondo_request_free", nullptr, [&]() -> Status {
    RONDO_TRY(check_request(request));
    *request = {};
    HandlePool<rondo_request>::get().give_back(request);
    return {};
  });
}
