// The C API's sends and receives.
#include "comm/gpu_calls.h"
#include "comm/group.h"
#include "comm/placement.h"
#include "comm/types.h"
#include "handles.h"

namespace {

using namespace rondo;
using api::guarded;

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

}  // namespace

rondo_status_t rondo_send(const void* buf, size_t count, rondo_type_t type, int peer, int tag,
                          rondo_comm_t comm, rondo_stream_t stream) {
  return guarded("rondo_send", comm, [&]() -> Status {
    RONDO_TRY_ASSIGN(Communicator * communicator, api::live(comm));
    CallPlace place;
    RONDO_TRY_ASSIGN(Queue * queue, api::place_of(stream, place));
    RONDO_TRY_ASSIGN(const CallType known, find_type(type));
    RONDO_TRY(check_message(*communicator, buf, count, known, peer, tag, false));
    RONDO_TRY(find_place(*communicator, {static_cast<const std::byte*>(buf), count * known.bytes}, place));
    auto request = std::make_shared<SendRequest>();
    request->data = static_cast<const std::byte*>(buf);
    request->bytes = count * known.bytes;
    request->type_bytes = known.bytes;
    request->peer = peer;
    request->tag = tag;
    return submit({communicator, std::move(request), queue, {}, place});
  });
}

rondo_status_t rondo_recv(void* buf, size_t count, rondo_type_t type, int peer, int tag, rondo_comm_t comm,
                          rondo_stream_t stream, rondo_receipt_t* receipt) {
  return guarded("rondo_recv", comm, [&]() -> Status {
    RONDO_TRY_ASSIGN(Communicator * communicator, api::live(comm));
    CallPlace place;
    RONDO_TRY_ASSIGN(Queue * queue, api::place_of(stream, place));
    RONDO_TRY_ASSIGN(const CallType known, find_type(type));
    RONDO_TRY(check_message(*communicator, buf, count, known, peer, tag, true));
    if (place.on_stream && receipt != nullptr)
      return Status(Code::InvalidArgument,
                    "receipt must be NULL on a CUDA stream: nothing has been received when the call returns");
    RONDO_TRY(find_place(*communicator, {static_cast<const std::byte*>(buf), count * known.bytes}, place));
    auto request = std::make_shared<RecvRequest>();
    request->data = static_cast<std::byte*>(buf);
    request->capacity = count * known.bytes;
    request->type_bytes = known.bytes;
    request->peer = peer;
    request->tag = tag;
    std::function<void()> finish;
    if (receipt != nullptr)
      finish = [request, receipt] {
        *receipt = {request->source, request->got_tag, request->bytes / request->type_bytes};
      };
    return submit({communicator, request, queue, std::move(finish), place});
  });
}
