// SPDX-License-Identifier: Apache-2.0
#include "cases.h"

namespace rondo::perf {
namespace {

// The operations that both the collective and the type support; sum, which is ignored, if the collective does
// not reduce.
std::vector<Op> ops_for(const PerfOptions& options, Collective collective, const TypeRow& type) {
  if (!traits(collective).reduces()) return {Op::Sum};
  std::vector<Op> ops;
  for (const Op op : options.ops) {
    if (op_takes(op, type) && (op != Op::Avg || traits(collective).finishes())) ops.push_back(op);
  }
  return ops;
}

}  // namespace

std::string name_of(const Table& table) {
  return std::string(collective_info(table.collective).name) + (table.varying ? "_v" : "");
}

std::vector<Combination> combinations(const PerfOptions& options, Collective collective, int nranks) {
  std::vector<int> roots{0};
  if (traits(collective).has_root()) {
    roots = options.roots;
    for (int root = 0; options.roots.empty() && root < nranks; ++root) roots.push_back(root);
  }
  if (collective == Collective::Barrier) return {{}};
  std::vector<Combination> all;
  for (const int type : options.types) {
    for (const Op op : ops_for(options, collective, type_info(type))) {
      for (const int root : roots) all.push_back({type, op, root});
    }
  }
  return all;
}

Row blank_row(const Table& table, const Combination& combination, size_t count, int nranks) {
  const CollectiveTraits& kind = traits(table.collective);
  const TypeRow& type = type_info(combination.type);
  const bool barrier = table.collective == Collective::Barrier;
  Row row;
  row.collective = name_of(table);
  row.automatic = table.algorithm.empty();
  row.ranks = nranks;
  row.count = count;
  row.bytes = barrier ? 0 : count * type.bytes * (kind.has_blocks() ? static_cast<size_t>(nranks) : 1);
  row.type = barrier ? "none" : type.name;
  row.op = kind.reduces() ? op_info(combination.op).name : "none";
  row.root = kind.has_root() ? combination.root : -1;
  return row;
}

}  // namespace rondo::perf
