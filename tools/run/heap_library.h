// SPDX-License-Identifier: Apache-2.0
// Where librondo-heap.so is, which replaces malloc() in the ranks. Any thread.
#pragma once

#include <string>

namespace rondo::run {

/// Its path, or that of what is preloaded already with it in front; empty if it is not beside this program.
std::string preload_with_heap();

}  // namespace rondo::run
