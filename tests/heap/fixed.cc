// SPDX-License-Identifier: Apache-2.0
// A program that is linked for a fixed address and passes malloc() and free() on as pointers, as compilers
// and interpreters do: these then are addresses in the program itself.
#include <cstdlib>

int main() {
  void* (*volatile allocate)(size_t) = std::malloc;
  void (*volatile release)(void*) = std::free;
  void* const block = allocate(size_t{1} << 20);
  release(block);
  return block != nullptr ? 0 : 1;
}
