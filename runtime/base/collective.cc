// SPDX-License-Identifier: Apache-2.0
#include "base/collective.h"

#include <fmt/ranges.h>

#include <vector>

#include "base/words.h"

namespace rondo {

std::string_view collective_name(CollectiveKind kind) {
  const auto at = static_cast<size_t>(kind);
  return at < kCollectiveTraits.size() ? kCollectiveTraits[at].name : "an unknown collective";
}

std::optional<CollectiveKind> collective_by_name(std::string_view name) {
  const std::string plain = plain_name(name);
  for (int i = 0; i < kCollectives; ++i)
    if (plain_name(collective_name(static_cast<CollectiveKind>(i))) == plain)
      return static_cast<CollectiveKind>(i);
  if (plain == "bcast") return CollectiveKind::Broadcast;
  return std::nullopt;
}

std::string no_collective(std::string_view name) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kCollectives; ++i) names.push_back(collective_name(static_cast<CollectiveKind>(i)));
  return fmt::format("unknown collective '{}'; expected one of {}{}", name, fmt::join(names, ", "),
                     did_you_mean(name, names));
}

}  // namespace rondo
