// SPDX-License-Identifier: Apache-2.0
// VerbsSettings: what the user sets for InfiniBand and RoCE, by RONDO_IB_* or, where they are not set, by
// NCCL's variables. Pure functions of the variables' values: any thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "verbs/gid_choice.h"
#include "verbs/partition_key.h"
#include "verbs/port_filter.h"

namespace rondo::verbs {

constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();

struct VerbsSettings {
  bool disabled = false;  // unless the user selects the transport by name
  PortFilter ports;
  GidChoice gid;
  PartitionKey partition;
  uint8_t service_level = 0;
  std::optional<uint8_t> traffic_class;  // nothing: the communicator's, or 0
  uint8_t timeout = 16;                  // a try takes 4.096 us x 2^timeout
  uint8_t retries = 6;                   // with 16: 1.9 s
  uint8_t queue_pairs = 0;               // of a connection; 0: one for each port, up to four
  std::string_view queue_pairs_variable = "RONDO_IB_QPS";  // that says it, for errors
  uint64_t max_pinned = kUnlimited;                        // bytes of the process
  std::optional<bool> gpu_direct;  // devices access memory of GPUs; nothing: of those near by
  bool on_demand = false;          // devices may read all memory of the process, by paging on demand
  /// A sentence for each of NCCL's variables whose value is ignored because Rondo does not allow it.
  std::vector<std::string> ignored;

  /// How long a packet is sent again until the connection fails.
  int64_t give_up_us() const;
};

/// The value of a variable; nothing if it is unset or empty.
using ReadVariable = std::function<std::optional<std::string>(std::string_view variable)>;

/// InvalidArgument if one of Rondo's variables, or NCCL_IB_HCA, has a value that is not allowed. NCCL takes
/// any number for the others of its own: they do not end a job that runs with NCCL.
Result<VerbsSettings> read_settings(const ReadVariable& read);

}  // namespace rondo::verbs
