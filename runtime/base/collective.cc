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
  for (const CollectiveKind kind : kAllCollectives)
    if (plain_name(collective_name(kind)) == plain) return kind;
  if (plain == "bcast") return CollectiveKind::Broadcast;
  return std::nullopt;
}

std::string no_collective(std::string_view name) {
  std::vector<std::string_view> names;
  for (const CollectiveKind kind : kAllCollectives) names.push_back(collective_name(kind));
  return fmt::format("unknown collective '{}'; expected one of {}{}", name, fmt::join(names, ", "),
                     did_you_mean(name, names));
}

}  // namespace rondo
