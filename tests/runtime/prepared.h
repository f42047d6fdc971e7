// SPDX-License-Identifier: Apache-2.0
// Requests of the tests of prepared calls.
#pragma once

#include <rondo/rondo.h>

#include <utility>
#include <vector>

#include "world.h"

namespace rondo::test {

/// Freed at the end of its scope.
class Request {
 public:
  explicit Request(rondo_request_t request) : request_(request) {}
  Request(Request&& other) noexcept : request_(std::exchange(other.request_, nullptr)) {}
  Request& operator=(Request&&) = delete;
  ~Request() { rondo_request_free(request_); }
  rondo_request_t get() const { return request_; }
  void reset() { check(rondo_request_free(std::exchange(request_, nullptr))); }

 private:
  rondo_request_t request_;
};

/// The calls that `body` makes, prepared.
template <typename Body>
Request prepare(Body&& body) {
  check(rondo_group_start());
  body();
  rondo_request_t request = nullptr;
  check(rondo_group_prepare(&request));
  return Request(request);
}

/// Makes prepared calls: starts them and waits for them, or runs them.
inline rondo_status_t outcome_of(const Request& request, bool starts) {
  if (!starts) return rondo_request_run(request.get());
  const rondo_status_t status = rondo_request_start(request.get());
  return status == RONDO_OK ? rondo_request_wait(request.get(), 0) : status;
}
inline void make(const Request& request, bool starts) { check(outcome_of(request, starts)); }

inline Request started_receive(const Rank& rank, std::vector<int>& into, int peer) {
  rondo_request_t request = nullptr;
  check(rondo_irecv(into.data(), into.size(), RONDO_INT32, peer, RONDO_ANY_TAG, rank.comm, nullptr, &request),
        rank.comm);
  return Request(request);
}
inline Request started_send(const Rank& rank, const std::vector<int>& from, int peer) {
  rondo_request_t request = nullptr;
  check(rondo_isend(from.data(), from.size(), RONDO_INT32, peer, 5, rank.comm, &request), rank.comm);
  return Request(request);
}

}  // namespace rondo::test
