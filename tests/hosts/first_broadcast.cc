// SPDX-License-Identifier: Apache-2.0
// usage: first_broadcast RANK. All ranks join; this one stops, the others broadcast from rank 0, print how
// that ended, and leave.
#include <rondo/rondo.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  rondo_comm_t world = nullptr;
  int rank = 0;
  if (argc != 2 || rondo_init(&world, nullptr, nullptr) != RONDO_OK || rondo_rank(world, &rank) != RONDO_OK) {
    std::fprintf(stderr, "%s\n", rondo_last_error(nullptr));
    return 1;
  }
  if (rank == std::atoi(argv[1])) ::kill(::getpid(), SIGSTOP);
  std::array<float, 64> data{};
  const bool is_right =
      rondo_broadcast(data.data(), data.data(), data.size(), RONDO_FLOAT32, 0, world, nullptr) == RONDO_OK;
  std::puts(is_right ? "OK" : rondo_last_error(world));
  if (rondo_destroy(world) != RONDO_OK) std::puts(rondo_last_error(nullptr));
}
