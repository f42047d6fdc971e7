// SPDX-License-Identifier: Apache-2.0
#include <rondo/rondo.h>
#include <stdio.h>

int main(void) {
  rondo_comm_t comm;
  if (rondo_init(&comm, NULL, NULL) != RONDO_OK) {
    fprintf(stderr, "%s\n", rondo_last_error(NULL));
    return 1;
  }
  int rank, size;
  rondo_rank(comm, &rank);
  rondo_size(comm, &size);
  float mine[3] = {1.0f, (float)rank, 0.5f}, sum[3];
  if (rondo_all_reduce(mine, sum, 3, RONDO_FLOAT32, RONDO_SUM, comm, NULL) != RONDO_OK) {
    fprintf(stderr, "%s\n", rondo_last_error(comm));
    return 1;
  }
  printf("rank %d of %d: %g %g %g\n", rank, size, sum[0], sum[1], sum[2]);
  return rondo_destroy(comm) == RONDO_OK ? 0 : 1;
}
