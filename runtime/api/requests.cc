// SPDX-License-Identifier: Apache-2.0
// The C API's requests: waited for, told of, freed; and those of prepared calls.
#include "base/error_kinds.h"
#include "handles.h"

namespace {

using namespace rondo;
using api::guarded;
using api::guarded_for_thread;
using api::HandlePool;

Status check_request(rondo_request_t request) {
  if (request == nullptr) return api::null_argument("request");
  if (request->mark != api::kRequestMark)
    return Status(ErrorKind::NoSuchHandle,
                  "request is not one from rondo_isend(), rondo_irecv() or rondo_group_prepare(), or it was "
                  "freed");
  return {};
}

Status why_not_prepared(rondo_request_t request) {
  RONDO_TRY(check_request(request));
  return Status(ErrorKind::RequestUsage,
                "request is not one from rondo_group_prepare(): its message was started when it was made");
}

bool is_prepared(rondo_request_t request) {
  return request != nullptr && request->mark == api::kRequestMark && request->prepared != nullptr;
}

}  // namespace

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
      fn(static_cast<rondo_status_t>(status.code()), status.text().c_str(), user);
    });
    return {};
  });
}

rondo_status_t rondo_request_free(rondo_request_t request) {
  if (request == nullptr) return RONDO_OK;
  return guarded("rondo_request_free", nullptr, [&]() -> Status {
    RONDO_TRY(check_request(request));
    if (request->prepared != nullptr) RONDO_TRY(request->prepared->retire());
    *request = {};
    HandlePool<rondo_request>::get().give_back(request);
    return {};
  });
}

rondo_status_t rondo_group_prepare(rondo_request_t* request) {
  return guarded_for_thread("rondo_group_prepare", [&]() -> Status {
    if (request == nullptr) return api::null_argument("request");
    *request = nullptr;
    RONDO_TRY_ASSIGN(auto prepared, Prepared::take_group());
    *request = HandlePool<rondo_request>::get().take();
    **request = {api::kRequestMark, prepared->requests(), prepared->request(), prepared};
    return {};
  });
}

rondo_status_t rondo_request_start(rondo_request_t request) {
  return guarded_for_thread("rondo_request_start", [&]() -> Status {
    return is_prepared(request) ? request->prepared->start() : why_not_prepared(request);
  });
}

rondo_status_t rondo_request_run(rondo_request_t request) {
  return guarded_for_thread("rondo_request_run", [&]() -> Status {
    return is_prepared(request) ? request->prepared->run() : why_not_prepared(request);
  });
}
