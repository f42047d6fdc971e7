// SPDX-License-Identifier: Apache-2.0
// Counts the heap memory of a test program: all of operator new, and pugixml's.
#pragma once

#include <cstddef>

namespace rondo::test {

class CountedMemory {
 public:
  /// Counts from here on. One at a time, in a program with one thread.
  CountedMemory();

  /// The most bytes that were allocated at once since then, less those at the beginning.
  size_t peak_bytes() const;

 private:
  size_t at_first_;
};

}  // namespace rondo::test
