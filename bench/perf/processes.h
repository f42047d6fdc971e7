// Ranks as processes of this host: starts them, waits for all, and ends them all when one fails. Used by the
// main thread, before anything of Rondo has run in this process.
#pragma once

#include <functional>
#include <string>

namespace rondo::perf {

/// What a started process gets.
struct ChildPipes {
  int id_in = -1;     // the unique id arrives here (all but the first process)
  int id_out = -1;    // the first process writes it here, once for each of the others
  int rows_out = -1;  // lines for the process that started this one
};

/// Runs child(number, pipes) in `processes` processes and returns the exit code of the first that failed, or
/// 0. on_line is called here with each line that arrives. A signal that ends this process ends them too.
int run_processes(int processes, const std::function<int(int, const ChildPipes&)>& child,
                  const std::function<void(const std::string&)>& on_line);

/// All of `bytes`, or false where the other end is gone.
bool write_all(int fd, const void* data, size_t bytes);
bool read_all(int fd, void* data, size_t bytes);

}  // namespace rondo::perf
