// SPDX-License-Identifier: Apache-2.0
// RasProcess: what a process says of its ranks, to the process that answers a RAS client. Any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/collective.h"
#include "base/status.h"
#include "health/flight_recorders.h"

namespace rondo {

/// One rank's part in a communicator.
struct RasRank {
  uint64_t session = 0;
  uint64_t communicator = 0;
  int32_t session_rank = 0;
  int32_t rank = 0;
  int32_t size = 1;
  int32_t hosts = 1;
  int32_t device = -1;  // -1: it uses no GPU
  std::string name;
  std::vector<HereMember> here;  // the ranks on this host, by rank
  Code failure = Code::Ok;
  std::string failure_text;
  bool finished = false;
  bool inside = false;     // a call, or the end of the communicator
  bool on_gpu = false;     // the latest call
  uint32_t latest = 0;     // call; 0: none
  std::string call;        // that call, in the words of the C API
  uint64_t call_key = 0;   // of calls with the same number: the same at all ranks that agree about it
  int64_t begun_ms = -1;   // how long ago that call began; -1: unknown
  int64_t ended_ms = -1;   // how long ago it ended; -1: it has not
  int32_t waits_for = -1;  // a rank
  std::string messages;    // that it waits for
  std::array<uint64_t, kCollectives> calls{};  // so far

  /// Of what it waits for, in ms; 0: it does not wait, or it is unknown.
  int64_t waited_ms() const { return inside && !finished && begun_ms > 0 ? begun_ms : 0; }
};

struct RasProcess {
  std::string host;
  int32_t pid = 0;       // as the process has it
  uint32_t omitted = 0;  // parts in communicators
  std::vector<RasRank> ranks;
};

/// Of all communicators that have not ended, `max_ranks` parts at most: those in calls, then those used last.
RasProcess ras_process(const RecordedComms& comms, size_t max_ranks);

std::string ras_bytes(const RasProcess& process);
/// Nothing if the bytes are not what ras_bytes() makes.
std::optional<RasProcess> read_ras_bytes(std::string_view bytes);

}  // namespace rondo
