// SPDX-License-Identifier: Apache-2.0
// Algorithms of the table over levels: see over_levels.h.
#include "over_levels.h"

#include "algorithm_rows.h"

namespace rondo {

RONDO_DECLARE_ALGORITHM_ROWS

namespace hierarchical {

Algorithm all_reduce_direct() {
  return over_levels("hierarchical",
                     "levels: reduce-scatter, two_shot between groups, all-gather (Luo et al.)",
                     all_reduce_two_shot::row());
}

Algorithm all_reduce_halving() {
  return over_levels("hierarchical_halving",
                     "levels: reduce-scatter, halving_doubling between groups, all-gather",
                     all_reduce_halving_doubling::row());
}

Algorithm all_reduce_doubling() {
  return over_levels("hierarchical_doubling",
                     "levels: reduce-scatter, recursive_doubling between groups, all-gather",
                     all_reduce_recursive_doubling::row());
}

Algorithm all_reduce_ring() {
  return over_levels("hierarchical_ring", "levels: reduce-scatter, ring between groups, all-gather",
                     rondo::all_reduce_ring::row());
}

Algorithm all_reduce_tree() {
  return over_levels("hierarchical_tree",
                     "levels: reduce-scatter, double_binary_tree between groups, all-gather",
                     all_reduce_double_binary_tree::row());
}

Algorithm broadcast_direct() {
  return over_levels("hierarchical", "levels: scatter, flat between groups, all-gather",
                     broadcast_flat::row());
}

Algorithm broadcast_tree() {
  return over_levels("hierarchical_tree", "levels: scatter, binomial between groups, all-gather",
                     broadcast_reduce_knomial::broadcast_binomial());
}

Algorithm broadcast_chain() {
  return over_levels("hierarchical_chain", "levels: scatter, chain between groups, all-gather",
                     rondo::broadcast_chain::row());
}

Algorithm reduce_direct() {
  return over_levels("hierarchical", "levels: reduce-scatter, flat between groups, gather",
                     reduce_flat::row());
}

Algorithm reduce_tree() {
  return over_levels("hierarchical_tree", "levels: reduce-scatter, binomial between groups, gather",
                     broadcast_reduce_knomial::reduce_binomial());
}

Algorithm reduce_chain() {
  return over_levels("hierarchical_chain", "levels: reduce-scatter, chain between groups, gather",
                     rondo::reduce_chain::row());
}

Algorithm all_gather_ring() {
  return over_levels("hierarchical_ring", "levels: ring between groups, all-gather within",
                     rondo::all_gather_ring::row());
}

Algorithm all_gather_doubling() {
  return over_levels("hierarchical_doubling", "levels: recursive_doubling between groups, all-gather within",
                     all_gather_recursive_doubling::row());
}

Algorithm reduce_scatter_ring() {
  return over_levels("hierarchical_ring", "levels: reduce-scatter within groups, ring between them",
                     rondo::reduce_scatter_ring::row());
}

Algorithm reduce_scatter_halving() {
  return over_levels("hierarchical_halving",
                     "levels: reduce-scatter within groups, recursive_halving between them",
                     reduce_scatter_recursive_halving::row());
}

Algorithm all_to_all() {
  return over_levels("hierarchical", "levels: all-to-all within groups, direct between them",
                     all_to_all_direct::row());
}

Algorithm scan_direct() {
  return over_levels(CollectiveKind::Scan, "hierarchical",
                     "levels: scan within groups, flat exscan between them, fold", scan_flat::exscan());
}

Algorithm scan_doubling() {
  return over_levels(CollectiveKind::Scan, "hierarchical_doubling",
                     "levels: scan within groups, recursive_doubling between them, fold",
                     scan_recursive_doubling::exscan());
}

Algorithm scan_chain() {
  return over_levels(CollectiveKind::Scan, "hierarchical_chain",
                     "levels: scan within groups, chain between them, fold", rondo::scan_chain::exscan());
}

Algorithm exscan_direct() {
  return over_levels("hierarchical", "levels: exscan within groups, flat between them, fold",
                     scan_flat::exscan());
}

Algorithm exscan_doubling() {
  return over_levels("hierarchical_doubling",
                     "levels: exscan within groups, recursive_doubling between them, fold",
                     scan_recursive_doubling::exscan());
}

Algorithm exscan_chain() {
  return over_levels("hierarchical_chain", "levels: exscan within groups, chain between them, fold",
                     rondo::scan_chain::exscan());
}

}  // namespace hierarchical
}  // namespace rondo
