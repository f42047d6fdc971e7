// SPDX-License-Identifier: Apache-2.0
/* MPI's collectives: the call that is timed, its input and its expected result. Used by mpi_driver.c on the
 * only thread of each rank. The root is rank 0. */
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

/* The ranks that receive a result. */
enum result { RESULT_NOWHERE, RESULT_AT_ROOT, RESULT_EVERYWHERE, RESULT_AT_ODD };

enum { ROUND = 0, WINDOW = 64 };

struct collective {
  const char* name;
  int blocks_in, blocks_out; /* whether input and output have a block of `count` elements for each rank */
  enum result result;
  int messages; /* that one call moves one after the other, or in a window; ROUND: as many as there are ranks
                 */
  void (*run)(const struct call*);
  double (*expected)(const struct call*, size_t index); /* element of the output, from input_value() */
};

/* Returns NULL if there is no collective of this name. */
const struct collective* collective_named(const char* name);

/* A rank's input element: small whole numbers, whose sums every type represents exactly. */
double input_value(int rank, size_t index);

#endif
