// SPDX-License-Identifier: Apache-2.0
// Outcome: the result of a call, as NCCL's code and a text. Immutable values: any thread.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

#include "nccl_types.h"
#include "rondo/rondo.h"

namespace rondo::nccl {

struct [[nodiscard]] Outcome {
  ncclResult_t result = ncclSuccess;
  std::string text = {};  // why it failed

  bool ok() const { return result == ncclSuccess; }
};

template <typename... Args>
Outcome wrong(ncclResult_t result, fmt::format_string<Args...> format, Args&&... args) {
  return {result, fmt::format(format, std::forward<Args>(args)...)};
}

/// The outcome of a runtime status, with its error text; `comm` as in rondo_last_error().
Outcome outcome_of(rondo_status_t status, rondo_comm_t comm = nullptr);
ncclResult_t result_of(rondo_status_t status);

/// What ncclGetVersion() reports: RONDO_NCCL_VERSION or 22907.
int reported_version();

}  // namespace rondo::nccl

#define RONDO_NCCL_TRY(expression)                                                                   \
  do {                                                                                               \
    if (::rondo::nccl::Outcome nccl_outcome = (expression); !nccl_outcome.ok()) return nccl_outcome; \
  } while (false)
