// SPDX-License-Identifier: Apache-2.0
// Well-known machines, for planning and for trying things out without them. Any thread.
#pragma once

#include <string_view>
#include <vector>

#include "graph/machine.h"

namespace rondo {

struct KnownMachine {
  std::string_view name;     // "hgx-h100"
  std::string_view summary;  // one line
};

std::vector<KnownMachine> known_machines();

/// The description of one; if there is none of that name, InvalidArgument that lists the names.
Result<Machine> known_machine(std::string_view name);

}  // namespace rondo
