// SPDX-License-Identifier: Apache-2.0
// usage: pairs. Two ranks on each of two hosts; each joins its twin on the other host, and only the pairs
// make calls, until one fails. Prints "ready" once all have joined, and the failure.
#include <rondo/rondo.h>

#include <cstdio>
#include <cstdlib>

int main() {
  rondo_comm_t world = nullptr;
  rondo_comm_t pair = nullptr;
  int rank = 0;
  if (rondo_init(&world, nullptr, nullptr) != RONDO_OK || rondo_rank(world, &rank) != RONDO_OK ||
      rondo_split(world, rank % 2, rank, &pair, nullptr) != RONDO_OK ||
      rondo_barrier(pair, nullptr) != RONDO_OK || rondo_barrier(world, nullptr) != RONDO_OK) {
    std::fprintf(stderr, "%s\n", rondo_last_error(nullptr));
    return 1;
  }
  std::puts("ready");
  std::fflush(stdout);
  while (rondo_barrier(pair, nullptr) == RONDO_OK) continue;
  std::puts(rondo_last_error(pair));
  std::fflush(stdout);
  std::_Exit(0);  // other ranks may still use what rondo_destroy() would wait for
}
