// SPDX-License-Identifier: Apache-2.0
// The caches of this host, as reported by the kernel. Any thread.
#pragma once

#include <cstddef>
#include <span>

namespace rondo {

/// The size of a CPU's last-level cache on this host; 0: the kernel does not report it.
size_t last_level_cache_bytes();

/// The size of the L2 cache of a CPU of this host; 0: the kernel does not report it.
size_t core_cache_bytes();

/// Whether a core that reads a line which another has written takes it over, and so can write it without
/// asking that one, as Intel's were seen to. Of no other was that measured.
bool lines_move();

/// The last-level cache that all these CPUs (operating system's numbers) share, identified by the first CPU
/// that uses it. -1: they do not share one, or the kernel does not report it.
int shared_last_level_cache(std::span<const int> cpus);

}  // namespace rondo
