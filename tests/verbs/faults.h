// SPDX-License-Identifier: Apache-2.0
// Two connected ends with faults of the stand-in.
#pragma once

#include "catch.h"
#include "ends.h"

namespace rondo::verbs_test {

/// Two connected ends in a process with these variables.
inline void check_pair(const Variables& variables, const std::function<void(End& from, End& to)>& body,
                       const Options& options = {}) {
  if (!is_standin()) return;
  CHECK(in_process(variables, [&] {
          End from(options), to(options);
          connect(from, to);
          body(from, to);
        }) == "");
}

inline void write(End& from, End& to, uint32_t bytes = 8) {
  from.post(from.request(IBV_WR_RDMA_WRITE, to.address(), 0, bytes));
}

}  // namespace rondo::verbs_test
