// SPDX-License-Identifier: Apache-2.0
// Started: a request of a send or receive that was started, freed at the end of its scope.
#pragma once

#include <rondo/rondo.h>

#include <utility>

#include "worlds.h"

namespace rondo::test {

class Started {
 public:
  Started() = default;
  Started(Started&& other) noexcept : request_(std::exchange(other.request_, nullptr)) {}
  ~Started() { rondo_request_free(request_); }
  rondo_request_t* out() { return &request_; }
  rondo_request_t get() const { return request_; }
  void wait() const { check(rondo_request_wait(request_, 0)); }

 private:
  rondo_request_t request_ = nullptr;
};

}  // namespace rondo::test
