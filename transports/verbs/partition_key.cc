// SPDX-License-Identifier: Apache-2.0
#include "verbs/partition_key.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <vector>

#include "base/error_kinds.h"

namespace rondo::verbs {
namespace {

constexpr uint16_t kFullMember = 0x8000;

/// The number of the partition; 0 in an entry that is not in use.
uint16_t partition_of(uint16_t key) { return static_cast<uint16_t>(key & ~kFullMember); }

std::string keys_of(std::span<const uint16_t> table) {
  std::vector<std::string> keys;
  for (size_t i = 0; i < table.size(); ++i)
    if (partition_of(table[i]) != 0) keys.push_back(fmt::format("0x{:04x} (index {})", table[i], i));
  return keys.empty() ? "none" : fmt::format("{}", fmt::join(keys, ", "));
}

/// The best entry that `fits`: the first with full membership, else the first.
template <typename Fits>
std::optional<uint16_t> best_entry(std::span<const uint16_t> table, Fits fits) {
  std::optional<uint16_t> limited;
  for (size_t i = 0; i < table.size(); ++i) {
    if (partition_of(table[i]) == 0 || !fits(i)) continue;
    if ((table[i] & kFullMember) != 0) return static_cast<uint16_t>(i);
    if (!limited) limited = static_cast<uint16_t>(i);
  }
  return limited;
}

}  // namespace

Result<uint16_t> partition_index(const VerbsPort& port, std::span<const uint16_t> table,
                                 const PartitionKey& key) {
  const auto fits = [&](size_t i) {
    if (key.value) return partition_of(table[i]) == partition_of(*key.value);
    return !key.index || i == *key.index;
  };
  if (const auto found = best_entry(table, fits)) return *found;
  const std::string wanted = key.value   ? fmt::format("{} is 0x{:04x}", key.variable, *key.value)
                             : key.index ? fmt::format("{} is {}", key.variable, *key.index)
                                         : "no partition is configured";
  return error(ErrorKind::PartitionMissing, "{}: the partition keys of port {} are {}", wanted, port.name(),
               keys_of(table));
}

}  // namespace rondo::verbs
