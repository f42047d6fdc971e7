// SPDX-License-Identifier: Apache-2.0
// A description of a host as text that equal hosts have in common, so that it travels between hosts once.
// Pure functions: any thread.
#pragma once

#include <string>
#include <string_view>

#include "graph/machine.h"

namespace rondo {

/// All of it but what makes every host another: numbers of NICs that are unique in the world are replaced by
/// their order, and the host's own is left out.
std::string host_kind_text(Machine machine);

/// The description again, whose source is `source`. InvalidArgument if the text is not such a description.
Result<Machine> machine_of_host_kind(std::string_view text, std::string source);

}  // namespace rondo
