// SPDX-License-Identifier: Apache-2.0
// Balance: lowers capacities until every switch receives as much as it sends; only then can it be split off.
// Nothing to do if links are alike in both directions, as in most machines.
//
//           12           What a switch can send beyond what it receives is lowered along a path to a GPU, or
//           to
//            |           another switch that receives too much, so that the switches between stay balanced:
//            here
//         switch         6 of 12 to each of the GPUs below a switch that keeps them apart. Each neighbour's
//         path /    \         loses the same share if that costs no GPU anything; if it does, each loses what
//         it can
//       12      12       without cost.
//      gpu0    gpu1
//
// What a switch receives beyond what it sends is of no use. It can always be taken away at no cost.
#pragma once

#include "gather_network.h"

namespace rondo {

/// Whether the network is balanced now and has no shortfall.
bool balance(GatherNetwork& network);

}  // namespace rondo
