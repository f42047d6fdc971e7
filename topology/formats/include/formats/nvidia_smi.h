// SPDX-License-Identifier: Apache-2.0
// What `nvidia-smi topo -m` prints: a table of how each two GPUs and NICs are joined. It names no speeds, no
// switches and no generation, so some of the Machine is a guess, and Machine::repairs says which. Any thread.
#pragma once

#include <string>
#include <string_view>

#include "graph/machine.h"

namespace rondo {

/// Whether a text looks like that table.
bool is_nvidia_smi_table(std::string_view text);

/// `source` is the name of the text in errors and repairs. InvalidArgument, with source, line and what was
/// expected, if it is not such a table.
Result<Machine> machine_from_nvidia_smi(std::string_view text, std::string source);

}  // namespace rondo
