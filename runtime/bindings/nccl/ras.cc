// SPDX-License-Identifier: Apache-2.0
// NCCL_RAS_ENABLE and NCCL_RAS_ADDR: the processes that use this library answer NCCL's client `ncclras`.
#include "ras/options.h"

#include "logger.h"
#include "outcome.h"
#include "variables.h"

namespace rondo::nccl {
namespace {

static_assert(static_cast<int>(Code::Timeout) == RONDO_TIMEOUT && static_cast<int>(Code::Ok) == RONDO_OK);

int nccl_result(Code code) { return static_cast<int>(result_of(static_cast<rondo_status_t>(code))); }

std::optional<RasOptions> wanted() {
  if (number_variable("NCCL_RAS_ENABLE", 1) == 0) return std::nullopt;
  return RasOptions{.product = product_text(),
                    .nccl_version = nccl_version_text(),
                    .address = variable("NCCL_RAS_ADDR"),
                    .nccl_result = nccl_result};
}

__attribute__((constructor)) void offer_ras() { set_ras_wanted(wanted); }

}  // namespace
}  // namespace rondo::nccl
