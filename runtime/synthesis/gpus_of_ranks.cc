// SPDX-License-Identifier: Apache-2.0
#include "gpus_of_ranks.h"

#include <algorithm>
#include <span>

#include "base/error_kinds.h"

namespace rondo {
namespace {

Result<std::vector<int>> nodes_of_ranks(const RanksOfMachine& ranks, const TopologyGraph& graph,
                                        const std::string& source) {
  const std::span<const int> gpus = graph.gpus();
  const bool none = std::ranges::all_of(ranks.bus_ids, [](const std::string& id) { return id.empty(); });
  if (none && static_cast<int>(gpus.size()) < ranks.nranks)
    return error(ErrorKind::MachineIsNotRanks, "{}: the machine has {} GPUs for {} ranks", source,
                 gpus.size(), ranks.nranks);
  if (none) return std::vector<int>(gpus.begin(), gpus.begin() + ranks.nranks);
  std::vector<int> nodes;
  for (const std::string& id : ranks.bus_ids) {
    const auto node = std::ranges::find(gpus, id, [&](int gpu) { return graph.node(gpu).bus_id; });
    if (node == gpus.end())
      return error(ErrorKind::MachineIsNotRanks, "{}: rank {} has {}, which the machine's description lacks",
                   source, nodes.size(), id.empty() ? "no GPU" : "the GPU " + id);
    nodes.push_back(*node);
  }
  return nodes;
}

}  // namespace

Status of_this_rank(const Status& status) {
  return status.code() == Code::Unsupported ? status.as(Code::InvalidUsage) : status;
}

Result<GpusOfRanks> gpus_of_ranks(const RanksOfMachine& ranks) {
  if (ranks.hosts > 1)
    return error(ErrorKind::MachineIsNotRanks,
                 "the ranks are on {} hosts: expected one, whose links are known", ranks.hosts)
        .as(Code::Unsupported);
  RONDO_TRY_ASSIGN(const Machine machine, ranks.describe());
  auto built = TopologyGraph::build(machine);
  if (!built.ok()) return of_this_rank(built.status());
  TopologyGraph graph = built.take();
  RONDO_TRY_ASSIGN(std::vector<int> gpus, nodes_of_ranks(ranks, graph, machine.source));
  return GpusOfRanks{std::move(graph), std::move(gpus)};
}

}  // namespace rondo
