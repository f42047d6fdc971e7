// SPDX-License-Identifier: Apache-2.0
// Pieces of memory that a heap lends (base/lent_heap.h), if the process has one. Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/exportable.h"

namespace rondo {

/// The heap's piece that contains this range; nothing if none does.
std::optional<ExportableMemory> find_lent_by_heap(const std::byte* at, size_t bytes);
/// The number of pieces of the heap that are not lent any more.
uint64_t heap_pieces_ended();

}  // namespace rondo
