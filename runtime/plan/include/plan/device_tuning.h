// SPDX-License-Identifier: Apache-2.0
// Execution: how the device executor carries out a call: its protocol, channels and chunk length. All ranks
// choose the same, from what all ranks know. Pure functions.
#pragma once

#include <optional>
#include <span>

#include "bootstrap/peer_info.h"
#include "kernels/device_call.h"
#include "plan/connection_costs.h"

namespace rondo {

struct Execution {
  Chunking cut;  // its hash covers the whole Execution
  device::Protocol protocol = device::Protocol::Simple;
  int channels = 1;
};

/// What all ranks of a communicator know about each other's GPUs.
struct ExecutionTerms {
  bool shares_memory = false;                // all pairs of ranks use PeerMemory
  std::vector<PeerGpu> gpus;                 // by rank
  std::optional<device::Protocol> protocol;  // if one was requested
  int max_channels = 1;
  int max_blocks = kMaxPlanLanes;  // of a call, in all its channels, at a rank; one channel may exceed it
  size_t slot_bytes = 0;
};

/// The caller's override or, if null or 0, the environment's (RONDO_PROTOCOL, RONDO_CHANNELS).
Result<std::optional<device::Protocol>> requested_protocol(const char* requested);
/// 0: none are requested.
Result<int> requested_channels(int requested);
/// Sets max_channels and max_blocks.
void limit_channels(ExecutionTerms& terms, int requested);

Prediction predict_execution(const Algorithm& algorithm, const Call& call, const Shape& shape,
                             const LinkModel& links, const ExecutionTerms& terms);
/// How many channels of the algorithm fit the ranks' GPUs. Unsupported, with the reason, if none does, or a
/// Step has too many peers. Builds the Schedules of all ranks.
Result<int> channels_that_fit(const Algorithm& algorithm, const Shape& shape, const ExecutionTerms& terms);

/// `fit`: see channels_that_fit(). Unsupported, with the reason, if the call cannot be made as requested.
Result<Execution> choose_execution(const Algorithm& algorithm, const Call& call, const Shape& shape,
                                   const ExecutionTerms& terms, int fit);

/// The maximum message length of that protocol, given Simple's, `slot_bytes`.
size_t message_bytes(device::Protocol protocol, size_t slot_bytes);
/// What crosses a link for each byte of a message: some protocols send flags among the data.
double sent_bytes_per_byte(device::Protocol protocol);
/// The maximum number of chunks in a message of LL or LL128.
inline constexpr int kMaxLineChunks = 16;

}  // namespace rondo
