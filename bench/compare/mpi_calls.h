/* The collectives as MPI has them: the call that is timed, what goes in and what must come out. mpi_driver.c
 * calls it, on the one thread of each rank. The root is rank 0. */
#ifndef MPI_CALLS_H
#define MPI_CALLS_H

#include <mpi.h>
#include <stddef.h>

/* One rank's side of a call. In place, `in` lies within the buffer at `out`. */
struct call {
  int rank, ranks, count, in_place;
  MPI_Datatype type;
  const void* in;
  void* out;
};

/* Who has a result to look at. */
enum result { RESULT_NOWHERE, RESULT_AT_ROOT, RESULT_EVERYWHERE };

struct collective {
  const char* name;
  int blocks_in, blocks_out; /* whether input and output have a block of `count` elements for each rank */
  enum result result;
  void (*run)(const struct call*);
  double (*expected)(const struct call*, size_t index); /* element of the output, from input_value() */
};

/* NULL: there is none of this name. */
const struct collective* collective_named(const char* name);

/* What a rank puts into an element: small whole numbers, whose sums every type holds exactly. */
double input_value(int rank, size_t index);

#endif
