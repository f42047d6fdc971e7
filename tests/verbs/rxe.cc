// SPDX-License-Identifier: Apache-2.0
#include "rxe.h"

#include "ends.h"
#include "in_process.h"

namespace rondo::verbs_test {
namespace {

constexpr uint32_t kVendorOfRxe = 0xFFFFFF;

Departures of_rxe() {
  return {.pair_without_right = {IBV_WC_REM_INV_REQ_ERR},
          .wrong_source = {IBV_WC_LOC_QP_OP_ERR, IBV_WC_LOC_PROT_ERR},
          .sent_too_long = {IBV_WC_REM_OP_ERR},
          .short_receive = {IBV_WC_LOC_QP_OP_ERR},
          .wrong_receive = {IBV_WC_LOC_QP_OP_ERR},
          .killed_peer = {IBV_WC_RETRY_EXC_ERR, IBV_WC_REM_ACCESS_ERR},  // its regions may end first
          .tells_access_errors = false,
          .forgets_at_reset = false,
          .checks_ranges = false,
          .refuses_early_sends = false,
          .takes_7_for_endless = true,
          .tick_s = 0.004};
}

bool is_rxe() {
  if (is_standin()) return false;
  End end;
  ibv_device_attr attr{};
  succeed(ibv_query_device(end.context, &attr), "ibv_query_device");
  return attr.vendor_id == kVendorOfRxe;
}

}  // namespace

/// Asked in the process of a test, which has a device open anyway.
const Departures& departures() {
  static const Departures found = is_rxe() ? of_rxe() : Departures();
  return found;
}

}  // namespace rondo::verbs_test
