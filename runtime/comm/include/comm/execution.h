// Execution: how the device's executor carries a call: by which algorithm and protocol, in how many channels.
// Every rank decides alike, from what every rank knows. Pure functions.
#pragma once

#include <optional>
#include <span>

#include "comm/member.h"
#include "comm/selector.h"
#include "kernels/device_call.h"

namespace rondo {

struct Execution {
  Decision decision;  // its plan stands for all of this
  device::Protocol protocol = device::Protocol::Simple;
  int channels = 1;
};

/// What all ranks of a communicator know of one another's GPUs.
struct ExecutionTerms {
  bool shares_memory = false;                // all pairs of ranks by PeerMemory
  std::vector<MemberDevice> gpus;            // by rank
  std::optional<device::Protocol> protocol;  // that was asked for
  int most_channels = 1;
  size_t slot_bytes = 0;
};

/// The caller's override; null and 0: that of the environment (RONDO_PROTOCOL, RONDO_CHANNELS).
Result<std::optional<device::Protocol>> wished_protocol(const char* wish);
Result<int> wished_channels(int wish);

/// Unsupported, with the reason, where the call cannot be made as was asked.
Result<Execution> choose_execution(const Selector& selector, const Call& call, const Links& links,
                                   const ExecutionTerms& terms);

}  // namespace rondo
