// SPDX-License-Identifier: Apache-2.0
#include "failures.h"

namespace rondo::torch_binding {
namespace {

template <typename Error>
std::exception_ptr make(const std::string& text) {
  return std::make_exception_ptr(Error({__func__, __FILE__, static_cast<uint32_t>(__LINE__)}, text));
}

}  // namespace

std::exception_ptr failure(rondo_status_t status, const std::string& text, const std::string& where) {
  const std::string sentence = where + ": " + text;
  switch (status) {
    case RONDO_MISMATCH: return make<CollectiveMismatch>("CollectiveMismatch: " + sentence);
    case RONDO_INVALID_ARGUMENT: return make<c10::ValueError>(sentence);
    case RONDO_UNSUPPORTED: return make<c10::NotImplementedError>(sentence);
    case RONDO_TIMEOUT: return make<c10::DistBackendError>(kTimeoutReached + sentence);
    default: return make<c10::DistBackendError>(sentence);
  }
}

void check(rondo_status_t status, rondo_comm_t comm, const std::string& where) {
  if (status != RONDO_OK) std::rethrow_exception(failure(status, rondo_last_error(comm), where));
}

void refuse(const char* call, const std::string& why) {
  C10_THROW_ERROR(ValueError, std::string("rondo: ") + call + ": " + why);
}

}  // namespace rondo::torch_binding
