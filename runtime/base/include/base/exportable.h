// SPDX-License-Identifier: Apache-2.0
// ExportableMemory: memory of this process that others can map, one memfd per piece, and the registry of all
// such memory. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "base/fd.h"
#include "base/status.h"

namespace rondo {

struct ExportableMemory {
  std::byte* begin = nullptr;
  size_t bytes = 0;
  uint64_t number = 0;  // never reused
  std::shared_ptr<const Fd> memfd;

  bool holds(const std::byte* at, size_t length) const {
    return at >= begin && length <= bytes && static_cast<size_t>(at - begin) <= bytes - length;
  }
};

/// Page-aligned zeros.
Result<std::byte*> allocate_exportable(size_t bytes);
/// Frees a piece, even if peers still have it mapped; false if it is not from allocate_exportable().
bool free_exportable(void* begin);

/// The piece that contains this whole range; nothing if none does, or if it cannot be exported because this
/// process had few descriptors left when it was allocated.
std::optional<ExportableMemory> find_exportable(const std::byte* at, size_t bytes);
/// Whether the piece is still allocated.
bool is_alive(const ExportableMemory& piece);
/// The number of pieces freed so far.
uint64_t exportable_frees();

}  // namespace rondo
