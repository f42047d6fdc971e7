#include "collective.h"

#include "base/words.h"

namespace rondo::perf {
namespace {

constexpr CollectiveInfo kRows[] = {
    // name, reduces, root, in place, varying, in blocks
    {Collective::AllReduce, "all_reduce", true, false, true, false, false},
    {Collective::Broadcast, "broadcast", false, true, true, false, false},
    {Collective::Reduce, "reduce", true, true, true, false, false},
    {Collective::AllGather, "all_gather", false, false, true, true, true},
    {Collective::ReduceScatter, "reduce_scatter", true, false, true, true, true},
    {Collective::AllToAll, "all_to_all", false, false, false, true, true},
    {Collective::Gather, "gather", false, true, true, true, true},
    {Collective::Scatter, "scatter", false, true, true, true, true},
    {Collective::Barrier, "barrier", false, false, false, false, false},
    {Collective::Scan, "scan", true, false, true, false, false},
    {Collective::Exscan, "exscan", true, false, true, false, false},
    {Collective::SendRecv, "send_recv", false, false, false, false, false},
};

constexpr std::string_view kProgram = "_perf";  // what the names of nccl-tests' programs end with

}  // namespace

std::span<const CollectiveInfo> all_collectives() { return kRows; }

const CollectiveInfo& collective_info(Collective collective) {
  return kRows[static_cast<size_t>(collective)];
}

const CollectiveInfo* collective_by_name(std::string_view name) {
  if (name.ends_with(kProgram)) name.remove_suffix(kProgram.size());
  const std::string plain = plain_name(name);
  for (const CollectiveInfo& row : kRows) {
    if (plain == plain_name(row.name)) return &row;
  }
  return plain == "bcast" ? &collective_info(Collective::Broadcast) : nullptr;
}

const CollectiveInfo* collective_by_program(std::string_view path) {
  const std::string_view name = path.substr(path.find_last_of('/') + 1);
  return name.ends_with(kProgram) ? collective_by_name(name) : nullptr;
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
