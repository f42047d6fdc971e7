// SPDX-License-Identifier: Apache-2.0
// Where the threads of this process's program are, in Python and in C, for the moment in which a call has
// missed its deadline. Nothing here runs before. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace rondo {

/// Reads RONDO_STACKS, by which all of this is turned off; InvalidArgument if it is no switch. To be called
/// when a communicator is made.
Status read_stacks_setting();

struct PythonPlace {
  std::string file;
  int line = 0;
  std::string function;
};

struct NativePlace {
  std::string function;  // empty: unknown
  std::string module;    // the path of its file
  std::string build_id;  // of the module, hexadecimal; empty: it has none
  uint64_t offset = 0;   // in the module's file
  std::string
      library;  // "the C library", "the C++ library" or "Rondo"; empty: the program's own, or another one
};

struct ThreadPlace {
  pid_t thread = 0;
  std::string name;
  bool runs = false;                // or it waits in the kernel
  std::vector<PythonPlace> python;  // the innermost first
  std::vector<NativePlace> native;  // the same

  /// "is in train.py:214 (step), called from train.py:220 (main)"; empty: unknown.
  std::string text() const;
};

struct ProgramPlace {
  std::vector<ThreadPlace> threads;  // the main thread first
  std::string obstacle;              // why a part is not known
};

/// What may be done to a thread that runs: its C functions are known only if it is interrupted by a signal. A
/// thread that waits in the kernel never is: its wait goes on as if nothing had been.
enum class WhileRunning : uint8_t { LeaveAlone, Signal };

/// Of all threads that are not the library's own; none if RONDO_STACKS turns it off. Takes a second at most.
ProgramPlace program_place(WhileRunning how);

/// The same of one thread, or of the main thread if it has ended, in a line; empty: unknown.
std::string place_text(pid_t thread);
/// The longest such line.
inline constexpr size_t kMaxPlaceBytes = 600;
/// Without what a terminal may take for a command, and cut after kMaxPlaceBytes: for lines that came from a
/// peer too.
std::string clean_place(std::string text);

}  // namespace rondo
