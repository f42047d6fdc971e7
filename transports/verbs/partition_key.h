// SPDX-License-Identifier: Apache-2.0
// PartitionKey: the InfiniBand partition that connections are in, and its place in a port's table. Pure
// functions: any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/status.h"
#include "verbs/port.h"

namespace rondo::verbs {

/// What the user says about the partition; normally nothing. At most one of the two is set.
struct PartitionKey {
  std::string variable;           // that says it, for errors
  std::optional<uint16_t> value;  // bit 15, which marks full members, is ignored
  std::optional<uint16_t> index;  // in the table of each port

  /// Of the partition that `value` names; 0: none.
  uint32_t number() const { return value.value_or(0) & 0x7fffU; }
};

/// The index of the key in the port's table: the first key that is valid unless the user says which. A full
/// membership is preferred, as limited members do not reach one another. InvalidArgument that lists the
/// table's keys if it has no such key.
Result<uint16_t> partition_index(const VerbsPort& port, std::span<const uint16_t> table,
                                 const PartitionKey& key);

}  // namespace rondo::verbs
