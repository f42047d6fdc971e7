// SPDX-License-Identifier: Apache-2.0
// Balance: lowers capacities until every switch receives as much as it sends, without which it cannot be
// split off. Nothing to do if links are alike in both directions, as in most machines.
//
// What a switch receives beyond what it sends is of no use: it can be taken away at no cost. What it might
// send beyond what it receives has to go too, from one of its links or another: evenly if that costs nothing
// (from GPUs below a switch that keeps them apart), else from where it costs nothing.
#pragma once

#include "gather_network.h"

namespace rondo {

/// Whether the network is balanced now and has no shortfall.
bool balance(GatherNetwork& network);

}  // namespace rondo
