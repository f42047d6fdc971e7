// SPDX-License-Identifier: Apache-2.0
// hwloc's description of a host in XML, versions 2 and 3, as `lstopo --of xml` writes it, with its PCI and OS
// devices. It states no compute capability and no speed of network ports, so some of the Machine is a guess,
// and Machine::repairs says which. Files may come from strangers. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "graph/machine.h"

namespace rondo {

/// Whether a text looks like such a description.
bool is_hwloc_xml(std::string_view text);

/// `source` is the name of the text in errors and repairs. InvalidArgument, with source, line and what was
/// expected, if it is not such a description.
Result<Machine> machine_from_hwloc_xml(std::string_view text, std::string source);

}  // namespace rondo
