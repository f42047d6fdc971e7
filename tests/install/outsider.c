// SPDX-License-Identifier: Apache-2.0
/* A program outside the source tree, in C99, with a single rank. */
#include <rondo/plan.h>
#include <rondo/rondo.h>
#include <stdio.h>

int main(void) {
  int version = 0;
  rondo_comm_t comm = NULL;
  rondo_config_t config = RONDO_CONFIG_INITIALIZER;
  double mine = 2.5, sum = 0.0;
  if (rondo_version(&version) != RONDO_OK || version != RONDO_VERSION) {
    fprintf(stderr, "the header is %d and the library %d\n", RONDO_VERSION, version);
    return 1;
  }
  if (rondo_init(&comm, NULL, &config) != RONDO_OK ||
      rondo_all_reduce(&mine, &sum, 1, RONDO_FLOAT64, RONDO_SUM, comm, NULL) != RONDO_OK) {
    fprintf(stderr, "%s\n", rondo_last_error(comm));
    return 1;
  }
  printf("sum %g\n", sum);
  return rondo_destroy(comm) == RONDO_OK && sum == 2.5 ? 0 : 1;
}
