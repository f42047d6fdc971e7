// The caches of this host. Any thread.
#pragma once

#include <cstddef>

namespace rondo {

/// Of the largest cache that a CPU of this host shares with its neighbours, as the kernel says; 0: it does
/// not say.
size_t last_level_cache_bytes();

}  // namespace rondo
