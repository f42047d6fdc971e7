// SPDX-License-Identifier: Apache-2.0
// Whether NCCL's graphs say the same: all but where they come from.
#pragma once

#include <algorithm>
#include <tuple>

#include "formats/nccl_graph.h"

namespace rondo::test {

inline bool have_same_content(const NcclChannel& a, const NcclChannel& b) {
  return a.stops == b.stops && a.extra == b.extra;
}

inline bool have_same_content(const NcclGraph& a, const NcclGraph& b) {
  const auto attributes = [](const NcclGraph& graph) {
    return std::tuple(graph.id, graph.pattern, graph.cross_nic, graph.intra_kBps, graph.inter_kBps,
                      graph.intra, graph.inter, graph.same_channels, graph.extra);
  };
  return attributes(a) == attributes(b) &&
         std::ranges::equal(a.channels, b.channels, [](const NcclChannel& left, const NcclChannel& right) {
           return have_same_content(left, right);
         });
}

inline bool have_same_content(const NcclGraphs& a, const NcclGraphs& b) {
  return a.extra == b.extra &&
         std::ranges::equal(a.graphs, b.graphs, [](const NcclGraph& left, const NcclGraph& right) {
           return have_same_content(left, right);
         });
}

}  // namespace rondo::test
