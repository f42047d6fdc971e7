// The caches of this host, as the kernel describes them. Any thread.
#pragma once

#include <cstddef>
#include <span>

namespace rondo {

/// Of the largest cache that a CPU of this host shares with its neighbours; 0: the kernel does not say.
size_t last_level_cache_bytes();

/// The cache that size is of, where all these CPUs (operating system's numbers) share one: a number that no
/// other of this host has, the first CPU that uses it. -1: they do not, or the kernel does not say.
int shared_last_level_cache(std::span<const int> cpus);

}  // namespace rondo
