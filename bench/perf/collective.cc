// SPDX-License-Identifier: Apache-2.0
#include "collective.h"

#include "base/collective.h"
#include "base/words.h"

namespace rondo::perf {
namespace {

/// In place, all_to_all has no meaning for nccl-tests and barrier none at all.
constexpr CollectiveInfo row(Collective id) {
  if (id == Collective::SendRecv) return {.id = id, .name = "send_recv"};
  if (id == Collective::Hypercube) return {.id = id, .name = "hypercube", .in_place = true, .in_all = false};
  return {
      .id = id, .name = traits(id).name, .in_place = id != Collective::AllToAll && id != Collective::Barrier};
}

constexpr CollectiveInfo kRows[] = {
#define X(enumerator, ...) row(Collective::enumerator),
    RONDO_COLLECTIVES(X)
#undef X
        row(Collective::SendRecv),
    row(Collective::Hypercube),
};

constexpr std::string_view kProgram = "_perf";  // suffix of nccl-tests' program names

}  // namespace

std::span<const CollectiveInfo> all_collectives() { return kRows; }

const CollectiveInfo& collective_info(Collective collective) {
  return kRows[static_cast<size_t>(collective)];
}

const CollectiveInfo* collective_by_name(std::string_view name) {
  if (name.ends_with(kProgram)) name.remove_suffix(kProgram.size());
  if (const auto kind = rondo::collective_by_name(name))
    return &collective_info(static_cast<Collective>(*kind));
  for (const CollectiveInfo& each : kRows)
    if (is_of_messages(each.id) && plain_name(name) == plain_name(each.name)) return &each;
  return nullptr;
}

NamedProgram named_program(std::string_view path) {
  std::string_view name = path.substr(path.find_last_of('/') + 1);
  if (!name.ends_with(kProgram)) return {};
  name.remove_suffix(kProgram.size());
  if (const CollectiveInfo* collective = collective_by_name(name)) return {collective, false};
  if (!name.ends_with('v')) return {};
  const CollectiveInfo* collective = collective_by_name(name.substr(0, name.size() - 1));
  return {collective, collective != nullptr};
}

std::string collective_names() {
  std::string names;
  for (const CollectiveInfo& row : kRows) names.append(names.empty() ? "" : ", ").append(row.name);
  return names;
}

size_t elements_for(Collective collective, size_t bytes, size_t element_bytes, int nranks) {
  const size_t elements = bytes / element_bytes;
  return traits(collective).has_blocks() ? elements / static_cast<size_t>(nranks) : elements;
}

double algorithm_factor(Collective collective, int nranks) {
  return collective == Collective::Hypercube ? static_cast<double>(nranks - 1) / nranks : 1;
}

double bus_factor(Collective collective, int nranks) {
  if (collective == Collective::Hypercube) return 1;
  return rondo::bus_factor(static_cast<CollectiveKind>(collective), nranks);
}

}  // namespace rondo::perf
