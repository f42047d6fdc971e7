// SPDX-License-Identifier: Apache-2.0
// Copies that bypass the caches. Pure function, thread-safe.
#pragma once

#include <cstddef>

namespace rondo {

/// memcpy() for a destination that is not read again soon: its lines are neither fetched nor kept in caches.
/// Afterwards the writes are ordered like ordinary stores.
void stream_copy(std::byte* to, const std::byte* from, size_t bytes);

}  // namespace rondo
