/* Times MPI_Allreduce the way rondo-perf times rondo_all_reduce: warm-up, a barrier, then the calls one after the
 * other; the mean over the ranks of the time of a call.
 *
 * mpi_all_reduce FIRST_BYTES LAST_BYTES ITERATIONS WARMUP: sizes double; prints "bytes microseconds" lines. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static double time_call_us(const float* send, float* recv, int count, int iterations, int warmup) {
  double mine, mean;
  int ranks, i;
  for (i = 0; i < warmup; ++i) MPI_Allreduce(send, recv, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);
  mine = MPI_Wtime();
  for (i = 0; i < iterations; ++i) MPI_Allreduce(send, recv, count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
  mine = (MPI_Wtime() - mine) * 1e6 / iterations;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Allreduce(&mine, &mean, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  return mean / ranks;
}

int main(int argc, char** argv) {
  long first, last, bytes;
  int iterations, warmup, rank;
  float *send, *recv;
  MPI_Init(&argc, &argv);
  if (argc != 5) {
    fprintf(stderr, "usage: mpi_all_reduce FIRST_BYTES LAST_BYTES ITERATIONS WARMUP\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  first = atol(argv[1]);
  last = atol(argv[2]);
  iterations = atoi(argv[3]);
  warmup = atoi(argv[4]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  send = calloc((size_t)last, 1);
  recv = calloc((size_t)last, 1);
  if (send == NULL || recv == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
  for (bytes = 0; bytes < last / (long)sizeof(float); ++bytes) send[bytes] = recv[bytes] = 0; /* every page is there */
  for (bytes = first; bytes <= last; bytes *= 2) {
    const double us = time_call_us(send, recv, (int)(bytes / (long)sizeof(float)), iterations, warmup);
    if (rank == 0) printf("%ld %.3f\n", bytes, us);
  }
  free(send);
  free(recv);
  MPI_Finalize();
  return 0;
}
