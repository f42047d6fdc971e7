// SPDX-License-Identifier: Apache-2.0
// What the library takes messages to cost, as tables for human readers.
#pragma once

#include <string>

namespace rondo::topo {

std::string cost_list();

}  // namespace rondo::topo
