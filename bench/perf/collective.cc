#include "collective.h"

namespace rondo::perf {
namespace {

constexpr CollectiveInfo kRows[] = {
    // name, nccl-tests' name, reduces, root, in place, varying, in blocks
    {Collective::AllReduce, "all_reduce", "all_reduce", true, false, true, false, false},
    {Collective::Broadcast, "broadcast", "broadcast", false, true, true, false, false},
    {Collective::Reduce, "reduce", "reduce", true, true, true, false, false},
    {Collective::AllGather, "all_gather", "all_gather", false, false, true, true, true},
    {Collective::ReduceScatter, "reduce_scatter", "reduce_scatter", true, false, true, true, true},
    {Collective::AllToAll, "all_to_all", "alltoall", false, false, false, true, true},
    {Collective::Gather, "gather", "gather", false, true, true, true, true},
    {Collective::Scatter, "scatter", "scatter", false, true, true, true, true},
    {Collective::Barrier, "barrier", "barrier", false, false, false, false, false},
    {Collective::Scan, "scan", "scan", true, false, true, false, false},
    {Collective::Exscan, "exscan", "exscan", true, false, true, false, false},
    {Collective::SendRecv, "send_recv", "sendrecv", false, false, false, false, false},
};

}  // namespace

std::span<const CollectiveInfo> all_collectives() { return kRows; }

const CollectiveInfo& collective_info(Collective collective) {
  return kRows[static_cast<size_t>(collective)];
}

const CollectiveInfo* collective_by_name(std::string_view name) {
  for (const CollectiveInfo& row : kRows) {
    if (name == row.name || name == row.nccl_name) return &row;
  }
  return nullptr;
}

const CollectiveInfo* collective_by_program(std::string_view path) {
  constexpr std::string_view suffix = "_perf";
  std::string_view name = path.substr(path.find_last_of('/') + 1);
  if (!name.ends_with(suffix)) return nullptr;
  name.remove_suffix(suffix.size());
  return collective_by_name(name);
}

std::string collective_names() {
  std::string names;
  for (const CollectiveInfo& row : kRows) names.append(names.empty() ? "" : ", ").append(row.name);
  return names;
}

size_t elements_for(Collective collective, size_t bytes, size_t element_bytes, int nranks) {
  const size_t elements = bytes / element_bytes;
  return collective_info(collective).in_blocks ? elements / static_cast<size_t>(nranks) : elements;
}

double bus_factor(Collective collective, int nranks) {
  const double n = nranks;
  switch (collective) {
    case Collective::AllReduce: return 2 * (n - 1) / n;
    case Collective::AllGather:
    case Collective::ReduceScatter:
    case Collective::AllToAll:
    case Collective::Gather:
    case Collective::Scatter: return (n - 1) / n;
    default: return 1;
  }
}

}  // namespace rondo::perf
