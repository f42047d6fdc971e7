// SPDX-License-Identifier: Apache-2.0
#include "worlds.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "algorithms/algorithm.h"
#include "transports/transport.h"

namespace rondo::test {
namespace {

/// Threads first, as the table has them, then processes. Without verbs, which needs a device, unless
/// RONDO_TEST_TRANSPORT names it.
std::vector<Way> ways() {
  const char* const only = std::getenv("RONDO_TEST_TRANSPORT");
  std::vector<Way> found;
  for (const Transport& row : transports())
    if (only != nullptr ? row.name == std::string_view(only) : row.fabrics == nullptr)
      found.push_back({row.name, !row.reaches({.host = 1, .process = 1}, {.host = 1, .process = 2})});
  std::stable_partition(found.begin(), found.end(), [](const Way& way) { return way.threads; });
  return found;
}

}  // namespace

const std::vector<Way> kWays = ways();

std::vector<std::string> algorithms_of(std::string_view collective, int nranks) {
  const char* listed = "";
  check(rondo_algorithm_names(std::string(collective).c_str(), &listed));
  const CollectiveKind kind = *collective_by_name(collective);
  const bool grouped = group_length(nranks) > 1;
  std::vector<std::string> names;
  std::istringstream list(listed);
  for (std::string name; std::getline(list, name, ',');)
    if (grouped || !algorithm_by_name(kind, name).value()->for_groups) names.push_back(name);
  return names;
}

std::string an_algorithm_each(int nranks) {
  std::string text;
  for (const CollectiveKind kind : kAllCollectives) {
    const Shape any{
        .kind = kind, .nranks = nranks, .varying = traits(kind).has_blocks(), .commutative = !reduces(kind)};
    const auto able = [&](const Algorithm& row) { return row.kind == kind && row.supports(any); };
    const auto row = std::find_if(algorithms().begin(), algorithms().end(), able);
    text += (text.empty() ? "" : ";") + std::string(collective_name(kind)) + "=" + row->name;
  }
  return text;
}

}  // namespace rondo::test
