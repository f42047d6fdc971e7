// SPDX-License-Identifier: Apache-2.0
// Failures: Rondo's statuses as exceptions of torch's own types.
#pragma once

#include <c10/util/Exception.h>
#include <rondo/rondo.h>

#include <exception>
#include <string>

namespace rondo::torch_binding {

/// Ranks disagree about a call. rondo.CollectiveMismatch in Python, a DistBackendError.
class CollectiveMismatch : public c10::DistBackendError {
 public:
  using c10::DistBackendError::DistBackendError;
};

/// Begins the text of each timeout. Scripts and torch's own tests search for " timeout ", with the blanks.
inline constexpr const char* kTimeoutReached = "The timeout was reached. ";

/// `where` names the call, the rank and the group.
std::exception_ptr failure(rondo_status_t status, const std::string& text, const std::string& where);

/// Throws failure() unless the status is RONDO_OK; the text is the last error of `comm`.
void check(rondo_status_t status, rondo_comm_t comm, const std::string& where);

/// Throws a ValueError that names the call, as c10d's argument checks do.
[[noreturn]] void refuse(const char* call, const std::string& why);

}  // namespace rondo::torch_binding
