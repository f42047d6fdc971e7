// Copies past the caches. Pure function: any thread.
#pragma once

#include <cstddef>

namespace rondo {

/// memcpy() for a destination that is not read again soon: its lines are neither fetched nor kept in caches.
/// What has been written is visible to other threads as that of any store is.
void stream_copy(std::byte* to, const std::byte* from, size_t bytes);

}  // namespace rondo
