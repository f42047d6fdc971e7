// SPDX-License-Identifier: Apache-2.0
// The Python functions in which this process's threads are, if an interpreter runs in it, whatever brought
// Rondo here: the package, PyTorch's backend or libnccl.so.2. Python's C API is looked up among the process's
// symbols, so that nothing is linked. Any thread that holds no lock of the interpreter.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <vector>

#include "stacks/program_place.h"

namespace rondo {

struct PythonFrames {
  std::map<pid_t, std::vector<PythonPlace>> threads;  // the innermost first
  std::string obstacle;  // why they are not known; empty also without an interpreter
};

/// Looks for an interpreter. To be called before python_frames(), from a thread that may wait for the dynamic
/// linker.
void look_for_python();

/// Waits for the interpreter's lock, 200 ms at most.
PythonFrames python_frames();

}  // namespace rondo
