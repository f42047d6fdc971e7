// SPDX-License-Identifier: Apache-2.0
/* Computes the MPI_Allreduce sum of float32 vectors from a file.
 *
 * mpi_sums COUNT INPUT OUTPUT
 *
 * INPUT holds COUNT elements for each rank, in rank order; OUTPUT receives rank 0's result. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void give_up(const char* what) {
  fprintf(stderr, "mpi_sums: %s\n", what);
  MPI_Abort(MPI_COMM_WORLD, 2);
}

int main(int argc, char** argv) {
  int rank = 0;
  long count = 0;
  float *own = NULL, *sum = NULL;
  FILE* file = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc != 4 || (count = atol(argv[1])) < 1) give_up("usage: mpi_sums COUNT INPUT OUTPUT");
  own = malloc((size_t)count * sizeof *own);
  sum = malloc((size_t)count * sizeof *sum);
  file = fopen(argv[2], "rb");
  if (own == NULL || sum == NULL || file == NULL ||
      fseek(file, (long)((size_t)rank * (size_t)count * sizeof *own), SEEK_SET) != 0 ||
      fread(own, sizeof *own, (size_t)count, file) != (size_t)count)
    give_up("cannot read the rank's vector");
  fclose(file);
  MPI_Allreduce(own, sum, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) {
    file = fopen(argv[3], "wb");
    if (file == NULL || fwrite(sum, sizeof *sum, (size_t)count, file) != (size_t)count || fclose(file) != 0)
      give_up("cannot write the result");
  }
  free(own);
  free(sum);
  MPI_Finalize();
  return 0;
}
