// SPDX-License-Identifier: Apache-2.0
// The rows that table.cc lists, each defined in the file of its name (the k-nomial ones of all radices in
// one). Pure functions: any thread.
#pragma once

#include "algorithms/algorithm.h"

namespace rondo {

Algorithm all_reduce_one_shot();
Algorithm all_reduce_two_shot();
Algorithm all_reduce_recursive_doubling();
Algorithm all_reduce_halving_doubling();
Algorithm all_reduce_ring();
Algorithm all_reduce_double_binary_tree();
Algorithm all_reduce_parameter_server();
Algorithm all_reduce_hierarchical();
Algorithm all_reduce_leaders();
Algorithm broadcast_binomial();
Algorithm broadcast_knomial4();
Algorithm broadcast_scatter_allgather();
Algorithm broadcast_chain();
Algorithm broadcast_flat();
Algorithm reduce_binomial();
Algorithm reduce_knomial4();
Algorithm reduce_halving_gather();
Algorithm reduce_chain();
Algorithm reduce_flat();
Algorithm all_gather_ring();
Algorithm all_gather_recursive_doubling();
Algorithm all_gather_bruck();
Algorithm all_gather_direct();
Algorithm all_gather_hierarchical();
Algorithm reduce_scatter_ring();
Algorithm reduce_scatter_recursive_halving();
Algorithm reduce_scatter_direct();
Algorithm reduce_scatter_hierarchical();
Algorithm all_to_all_pairwise();
Algorithm all_to_all_direct();
Algorithm gather_linear();
Algorithm gather_binomial();
Algorithm gather_knomial4();
Algorithm scatter_linear();
Algorithm scatter_binomial();
Algorithm scatter_knomial4();
Algorithm barrier_dissemination();
Algorithm barrier_flat();
Algorithm barrier_leaders();
Algorithm scan_recursive_doubling();
Algorithm scan_chain();
Algorithm scan_flat();
Algorithm exscan_recursive_doubling();
Algorithm exscan_chain();
Algorithm exscan_flat();

}  // namespace rondo
