// SPDX-License-Identifier: Apache-2.0
// FrameRules: how to find a function's caller at one of its instructions, from the call frame information of
// its module (.eh_frame; DWARF 5, section 6.4). It is read as memory that may be damaged: what is not
// understood is no answer. x86-64; any thread.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "loaded_modules.h"
#include "own_memory.h"

namespace rondo {

/// Registers as DWARF numbers them on x86-64.
struct DwarfRegister {
  static constexpr size_t kFrame = 6;    // rbp
  static constexpr size_t kStack = 7;    // rsp
  static constexpr size_t kReturn = 16;  // the address of the next instruction
  static constexpr size_t kCount = 17;
};

struct FrameRules {
  struct SavedRegister {
    enum class Keeping : uint8_t { Same, Lost, AtOffset };
    Keeping how = Keeping::Same;
    int64_t offset = 0;  // from the frame's address
  };
  size_t base = DwarfRegister::kStack;  // the frame's address is this register's value and an offset
  int64_t offset = 0;
  std::array<SavedRegister, DwarfRegister::kCount> saved{};
  uint64_t function = 0;         // where it begins
  uint64_t bytes = 0;            // how long it is
  bool is_signal_frame = false;  // the caller was interrupted, so it has made no call
};

/// The rules that apply at `address`; nothing if the module has none for it.
std::optional<FrameRules> frame_rules(const LoadedModule& module, uint64_t address, const OwnMemory& memory);

}  // namespace rondo
