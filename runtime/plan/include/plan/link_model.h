// SPDX-License-Identifier: Apache-2.0
// LinkModel: how a communicator's ranks are connected, as far as it matters to the choice of an algorithm.
// Plain data, the same at all ranks.
#pragma once

#include "transports/link_cost.h"

namespace rondo {

struct LinkModel {
  int nranks = 1;
  LinkCost cost;        // between any two ranks
  int group = 1;        // see Shape
  LinkCost intra_cost;  // between two ranks of a group
};

}  // namespace rondo
