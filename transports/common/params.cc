// SPDX-License-Identifier: Apache-2.0
#include "common/params.h"

#include "base/error_kinds.h"

namespace rondo {
namespace {

Status in_range(const char* what, uint64_t value, uint64_t least, uint64_t most) {
  if (value >= least && value <= most) return {};
  return error(Code::InvalidArgument, "{} of a connection is {}; it must be {} to {}", what,
               static_cast<int64_t>(value), least, most);
}

Status same(const char* what, uint64_t own, uint64_t peers) {
  if (own == peers) return {};
  return error(ErrorKind::SettingsDiffer,
               "the two ends of a connection differ: {} is {} at this end and {} at the other", what, own,
               peers);
}

}  // namespace

Status check_params(const ConnectionParams& params) {
  RONDO_TRY(in_range("slot_bytes", params.slot_bytes, 1, uint64_t{1} << 30));
  RONDO_TRY(in_range("slots", static_cast<uint64_t>(params.slots), 1, 4096));
  RONDO_TRY(in_range("sockets", static_cast<uint64_t>(params.sockets), 1, 64));
  return in_range("sim_delay_us", static_cast<uint64_t>(params.sim_delay_us), 0, 1'000'000'000);
}

AgreedParams agreed(const ConnectionParams& params) {
  return {params.slot_bytes, static_cast<uint64_t>(params.slots), 0};
}

Status compare(const AgreedParams& own, const AgreedParams& peers) {
  RONDO_TRY(same("slot_bytes", own.slot_bytes, peers.slot_bytes));
  RONDO_TRY(same("slots", own.slots, peers.slots));
  return same("sockets", own.sockets, peers.sockets);
}

}  // namespace rondo
