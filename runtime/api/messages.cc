// SPDX-License-Identifier: Apache-2.0
// The C API's sends and receives.
#include "base/error_kinds.h"
#include "call/check.h"
#include "call/user_types.h"
#include "comm/group.h"
#include "handles.h"
#include "health/trace.h"

namespace {

using namespace rondo;
using api::collected;
using api::guarded;
using api::HandlePool;

/// The arguments of a send or receive.
struct UserArgs {
  const void* buf;
  size_t count;
  rondo_type_t type;
  int peer;
  int tag;
  rondo_comm_t comm;
  rondo_stream_t stream;
};

/// Its communicator, and where it is carried out.
struct Site {
  Communicator* communicator = nullptr;
  uint32_t type_bytes = 0;
  Queue* queue = nullptr;
  CallPlace place;

  bool is_plain() const { return queue == nullptr && !place.on_gpu && !place.on_stream; }
};

Status check_message(const UserArgs& given, const Site& site, bool receives) {
  const int least = receives ? RONDO_ANY_SOURCE : 0;
  const int size = site.communicator->size();
  if (given.peer < least || given.peer >= size)
    return error(ErrorKind::RankOutOfRange, "peer is {}: it must be from 0 to {}{}", given.peer, size - 1,
                 receives ? ", or RONDO_ANY_SOURCE" : "");
  if (given.tag < least)
    return error(Code::InvalidArgument, "tag is {}: it must be at least 0{}", given.tag,
                 receives ? ", or RONDO_ANY_TAG" : "");
  if (given.count > SIZE_MAX / 2 / site.type_bytes)
    return error(ErrorKind::CountTooLarge, "count is {}, more than memory can hold", given.count);
  if (given.count != 0 && given.buf == nullptr) return api::null_argument("buf");
  return {};
}

/// Whether check_message() need not be asked.
inline bool is_plainly_right(const UserArgs& given, const Site& site) {
  return given.peer >= 0 && given.peer < site.communicator->size() && given.tag >= 0 &&
         given.buf != nullptr && given.count <= UINT32_MAX;
}

Status find_place(const UserArgs& given, Site& site) {
  const Extent buffer{static_cast<const std::byte*>(given.buf), given.count * site.type_bytes};
  return site.communicator->found(
      place_message(site.place, buffer, site.communicator->membership().device()));
}

inline Status find_site(const UserArgs& given, bool receives, Site& site) {
  RONDO_TRY_ASSIGN(site.communicator, api::live(given.comm));
  if (given.stream != nullptr) {
    RONDO_TRY_ASSIGN(site.queue, api::place_of(given.stream, site.place));
  }
  RONDO_TRY_ASSIGN(const CallType type, find_type(given.type));
  site.type_bytes = type.bytes;
  if (!is_plainly_right(given, site)) [[unlikely]] {
    RONDO_TRY(check_message(given, site, receives));
  }
  if (site.communicator->is_host_only() && !site.place.on_stream) [[likely]]
    return {};
  return find_place(given, site);
}

UserMessage send_of(const UserArgs& given, const Site& site) {
  return {site.communicator, SendRequest{.data = static_cast<const std::byte*>(given.buf),
                                         .bytes = given.count * site.type_bytes,
                                         .type_bytes = site.type_bytes,
                                         .peer = given.peer,
                                         .tag = given.tag,
                                         .began_ns = trace_now_ns()}};
}

void fill_in(const RecvRequest& got, void* receipt) {
  *static_cast<rondo_receipt_t*>(receipt) = {got.source, got.got_tag, got.bytes / got.type_bytes};
}

UserMessage recv_of(void* buf, const UserArgs& given, const Site& site, rondo_receipt_t* receipt) {
  return {site.communicator,
          RecvRequest{.data = static_cast<std::byte*>(buf),
                      .capacity = given.count * site.type_bytes,
                      .type_bytes = site.type_bytes,
                      .peer = given.peer,
                      .tag = given.tag,
                      .began_ns = trace_now_ns()},
          receipt != nullptr ? fill_in : nullptr, receipt};
}

inline Status submit_at(const Site& site, UserMessage&& message) {
  return site.is_plain() ? submit(message) : submit(message.op(site.queue, site.place));
}

Status start_request(const UserMessage& message, const CallPlace& place, rondo_request_t* request) {
  RONDO_TRY(refuse_in_group("starting a message"));
  const std::shared_ptr<Requests> requests = message.communicator->requests();
  auto started = requests->start(message.op(nullptr, place));
  *request = HandlePool<rondo_request>::get().take();
  **request = {api::kRequestMark, requests, std::move(started), nullptr};
  return {};
}

Status clear(rondo_request_t* request) {
  if (request == nullptr) return api::null_argument("request");
  *request = nullptr;
  return {};
}

}  // namespace

rondo_status_t rondo_send(const void* buf, size_t count, rondo_type_t type, int peer, int tag,
                          rondo_comm_t comm, rondo_stream_t stream) {
  return collected("rondo_send", comm, [&]() -> Status {
    const UserArgs given{buf, count, type, peer, tag, comm, stream};
    Site site;
    RONDO_TRY(find_site(given, false, site));
    return submit_at(site, send_of(given, site));
  });
}

rondo_status_t rondo_recv(void* buf, size_t count, rondo_type_t type, int peer, int tag, rondo_comm_t comm,
                          rondo_stream_t stream, rondo_receipt_t* receipt) {
  return collected("rondo_recv", comm, [&]() -> Status {
    const UserArgs given{buf, count, type, peer, tag, comm, stream};
    Site site;
    RONDO_TRY(find_site(given, true, site));
    if (site.place.on_stream && receipt != nullptr)
      return Status(Code::InvalidArgument,
                    "receipt must be NULL on a CUDA stream: nothing has been received when the call returns");
    return submit_at(site, recv_of(buf, given, site, receipt));
  });
}

rondo_status_t rondo_isend(const void* buf, size_t count, rondo_type_t type, int peer, int tag,
                           rondo_comm_t comm, rondo_request_t* request) {
  return guarded("rondo_isend", comm, [&]() -> Status {
    const UserArgs given{buf, count, type, peer, tag, comm, nullptr};
    Site site;
    RONDO_TRY(clear(request));
    RONDO_TRY(find_site(given, false, site));
    return start_request(send_of(given, site), site.place, request);
  });
}

rondo_status_t rondo_irecv(void* buf, size_t count, rondo_type_t type, int peer, int tag, rondo_comm_t comm,
                           rondo_receipt_t* receipt, rondo_request_t* request) {
  return guarded("rondo_irecv", comm, [&]() -> Status {
    const UserArgs given{buf, count, type, peer, tag, comm, nullptr};
    Site site;
    RONDO_TRY(clear(request));
    RONDO_TRY(find_site(given, true, site));
    return start_request(recv_of(buf, given, site, receipt), site.place, request);
  });
}
