// SPDX-License-Identifier: Apache-2.0
// FoundPlans: a communicator's algorithms besides the table's: those that follow the links between its ranks'
// GPUs, and those out of files. Any thread.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "algorithms/algorithm.h"
#include "base/status.h"
#include "graph/machine.h"
#include "graph/topology_graph.h"
#include "search/forest.h"

namespace rondo {

/// Where the ranks of a communicator are, for plans by the links of their machine.
struct RanksOfMachine {
  int nranks = 1;
  int hosts = 1;
  std::vector<std::string> bus_ids;           // of the ranks' GPUs; empty strings: ranks without one
  std::function<Result<Machine>()> describe;  // the ranks' host
};

/// A forest, and the links that it is over.
struct FoundForest {
  TopologyGraph links;
  Forest forest;
};

/// The forest that FoundPlans finds for these ranks.
Result<FoundForest> found_forest(const RanksOfMachine& ranks);

class FoundPlans {
 public:
  /// Makes rows of what a search found.
  using MakeRow = std::function<Algorithm(CollectiveKind)>;

  /// The names of the algorithms that the collective may have: forest, rings; "file:PATH" for one of those
  /// that MSCCL's files are for.
  static std::vector<std::string_view> names(CollectiveKind kind);
  /// Whether it is one of those; a file is not read.
  static bool have(CollectiveKind kind, std::string_view name);

  explicit FoundPlans(RanksOfMachine ranks) : ranks_(std::move(ranks)) {}

  const RanksOfMachine& ranks() const { return ranks_; }

  /// The collective's algorithm of that name; valid as long as this. The first call describes the machine and
  /// searches, which takes tenths of a second, or reads the file; all ranks find the same. If there is no
  /// plan, an error that says why: the ranks are on several hosts, the machine has fewer GPUs, a description
  /// is bad, a file is for another number of ranks.
  Result<const Algorithm*> find(CollectiveKind kind, std::string_view name);

 private:
  Result<const Algorithm*> find_file(CollectiveKind kind, std::string_view name);

  const RanksOfMachine ranks_;
  std::mutex mutex_;
  std::map<std::string_view, Result<MakeRow>> found_;
  std::map<std::pair<std::string_view, CollectiveKind>, Algorithm> rows_;
  std::map<std::string, Result<Algorithm>, std::less<>> files_;  // by name
};

}  // namespace rondo
