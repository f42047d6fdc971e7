// SPDX-License-Identifier: Apache-2.0
// Why another process of this host does not answer, as /proc shows it. Any thread.
#pragma once

#include <sys/types.h>

#include <string>

namespace rondo {

/// "is stopped (SIGSTOP or job control)", "is held by process 77 (gdb), which traces it", "is in an
/// uninterruptible wait of the kernel (nfs_wait)"; empty: it is none of these, or cannot be seen.
std::string process_trouble(pid_t process);

}  // namespace rondo
