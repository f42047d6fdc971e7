// SPDX-License-Identifier: Apache-2.0
// Runs ranks as processes of this host: starts them, waits for all, and ends all when one fails. Used by the
// main thread, before any of Rondo has run in this process.
#pragma once

#include <functional>
#include <string>

namespace rondo::perf {

/// The pipes of a started process.
struct ChildPipes {
  int id_in = -1;     // delivers the unique id (all but the first process)
  int id_out = -1;    // the first process writes the id here, once for each of the others
  int rows_out = -1;  // lines for the parent
};

/// Runs child(number, pipes) in `processes` processes and returns the exit code of the first that failed, or
/// 0. Calls on_line in this process for each line that arrives. A signal that ends it ends its children too.
int run_processes(int processes, const std::function<int(int, const ChildPipes&)>& child,
                  const std::function<void(const std::string&)>& on_line);

/// The exit code that a process's part of the program returns; another if its output, as to a file on a full
/// disk, has been lost.
int with_output(const std::function<int()>& part);

/// Transfers all of `bytes`; false if the other end is gone.
bool write_all(int fd, const void* data, size_t bytes);
bool read_all(int fd, void* data, size_t bytes);

}  // namespace rondo::perf
