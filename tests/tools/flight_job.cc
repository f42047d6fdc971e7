// SPDX-License-Identifier: Apache-2.0
// flight_job CALLS: a rank of a job in which rank 1 calls broadcast of 'second' after CALLS calls, while the
// others go on with 'world'. Prints its error; exits with 0, so that the launcher ends no rank early.
#include <rondo/rondo.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  const int calls = argc == 2 ? std::atoi(argv[1]) : 0;
  rondo_comm_t world = nullptr;
  int rank = 0;
  if (rondo_init(&world, nullptr, nullptr) != RONDO_OK || rondo_rank(world, &rank) != RONDO_OK) return 1;
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  config.name = "second";
  config.timeout_ms = 1000;
  rondo_comm_t second = nullptr;
  if (rondo_split(world, 0, rank, &second, &config) != RONDO_OK) return 1;
  double value = 1;
  for (int call = 1; call < calls; ++call)  // the split was the first
    if (rondo_all_reduce(&value, &value, 1, RONDO_FLOAT64, RONDO_SUM, world, nullptr) != RONDO_OK) return 1;
  if (rondo_set_timeout(world, 1000) != RONDO_OK) return 1;
  if (rank == 1)
    rondo_broadcast(&value, &value, 1, RONDO_FLOAT64, 0, second, nullptr);
  else
    rondo_all_reduce(&value, &value, 1, RONDO_FLOAT64, RONDO_SUM, world, nullptr);
  std::printf("%s\n", rondo_last_error(nullptr));
  rondo_destroy(second);
  rondo_destroy(world);
  return 0;
}
