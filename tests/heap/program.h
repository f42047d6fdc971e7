// SPDX-License-Identifier: Apache-2.0
// The cases of program.cc, and what they have in common.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace rondo::test {

inline constexpr size_t kLarge = size_t{1} << 20;
inline constexpr size_t kPage = 4096;

inline void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "program: %s (errno %d)\n", what, errno);
  std::_Exit(1);
}

/// Marks a block here and there, and at its end.
void put(char* block, size_t bytes, uint64_t mark);
bool has(const char* block, size_t bytes, uint64_t mark);
/// Allocates, resizes and frees blocks of random sizes, whose contents are checked.
void moves(uint64_t seed, int count);
/// Waits for a child, which must have ended well.
void expect_end(pid_t child);

/// Ends a child after `body`.
template <class Body>
pid_t forked(const Body& body) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  body();
  std::_Exit(0);
}

// blocks.cc
void stress();
void handed_over();
void resizing();
void moving();
void aligned();
void refused();
void returned();
void untouched();

// forks.cc
void discarded();
void forks();
void forks_amid_threads();
void writes_amid_forks();
void memory_after_forks();
void memory_amid_children();
void dumped();
void page_settings();
void stacks();
void handlers();
void closes_all();

}  // namespace rondo::test
