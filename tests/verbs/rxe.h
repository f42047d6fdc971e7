// SPDX-License-Identifier: Apache-2.0
// Where Linux's RoCE in software (rdma_rxe, seen in kernel 6.1) departs from the specification, and so from
// the stand-in and from devices. The probes expect these departures there, and no others.
#pragma once

#include <infiniband/verbs.h>

#include <vector>

namespace rondo::verbs_test {

struct Departures {
  // The status, or statuses, where the ...
  std::vector<ibv_wc_status> pair_without_right{IBV_WC_REM_ACCESS_ERR};  // peer's queue pair takes no writes
  std::vector<ibv_wc_status> wrong_source{IBV_WC_LOC_PROT_ERR};          // source is not in the own region
  std::vector<ibv_wc_status> sent_too_long{IBV_WC_REM_INV_REQ_ERR};      // peer's receive is too short
  std::vector<ibv_wc_status> short_receive{IBV_WC_LOC_LEN_ERR};          // own receive is too short
  std::vector<ibv_wc_status> wrong_receive{IBV_WC_LOC_PROT_ERR};         // own receive is not in its region
  std::vector<ibv_wc_status> killed_peer{IBV_WC_RETRY_EXC_ERR};  // peer is killed while it is written to
  // Whether ...
  bool tells_access_errors = true;   // the peer gets an event where an access to its memory is refused
  bool forgets_at_reset = true;      // the completions of a queue pair that is reset are gone
  bool checks_ranges = true;         // a retry_cnt of 8 is refused
  bool refuses_early_sends = true;   // sends need RTS
  bool takes_7_for_endless = false;  // as retry_cnt: a dead peer is never noticed
  double tick_s = 0;  // time-outs end up to two ticks of the clock early, of which one is rounded away
};

/// Those of the device that is tested.
const Departures& departures();

}  // namespace rondo::verbs_test
