// SPDX-License-Identifier: Apache-2.0
// Walks the stack of a thread that does not run, from its registers. A thread that sleeps in the kernel shows
// only two of them; the frame pointer, if a function needs it, is then searched for on the stack. x86-64; any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "frame_rules.h"

namespace rondo {

/// By DWARF's numbers; nothing: unknown.
using ThreadRegisters = std::array<std::optional<uint64_t>, DwarfRegister::kCount>;

/// Addresses in the code of its functions, the innermost first: of the next instruction there, and of the
/// call in the others.
std::vector<uint64_t> walk_stack(const ThreadRegisters& registers, const LoadedModules& modules,
                                 const OwnMemory& memory);

}  // namespace rondo
