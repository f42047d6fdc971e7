// SPDX-License-Identifier: Apache-2.0
#include "mpi_calls.h"

#include <string.h>

static const MPI_Comm world = MPI_COMM_WORLD;

double input_value(int rank, size_t index) { return (double)((index + 3 * (size_t)rank) % 7 + 1); }

static size_t in_own_block(const struct call* c, size_t index) { return (size_t)c->rank * c->count + index; }

static double sum_at(const struct call* c, size_t index) {
  double sum = 0;
  int rank;
  for (rank = 0; rank < c->ranks; ++rank) sum += input_value(rank, index);
  return sum;
}

static double from_root(const struct call* c, size_t index) {
  (void)c;
  return input_value(0, index);
}

static double block_from_root(const struct call* c, size_t index) {
  return from_root(c, in_own_block(c, index));
}

static double sum_of_block(const struct call* c, size_t index) { return sum_at(c, in_own_block(c, index)); }

static double from_each(const struct call* c, size_t index) {
  return input_value((int)(index / c->count), index % c->count);
}

static double block_from_each(const struct call* c, size_t index) {
  return input_value((int)(index / c->count), in_own_block(c, index % c->count));
}

static int left(const struct call* c) { return (c->rank + c->ranks - 1) % c->ranks; }

static double from_left(const struct call* c, size_t index) { return input_value(left(c), index); }

/* In collectives with a root, only the root passes MPI_IN_PLACE. */
static int root_in_place(const struct call* c) { return c->in_place && c->rank == 0; }

static const void* input(const struct call* c) { return c->in_place ? MPI_IN_PLACE : c->in; }

static const void* input_with_root(const struct call* c) { return root_in_place(c) ? MPI_IN_PLACE : c->in; }

static void all_reduce(const struct call* c) {
  MPI_Allreduce(input(c), c->out, c->count, c->type, MPI_SUM, world);
}

static void broadcast(const struct call* c) { MPI_Bcast(c->out, c->count, c->type, 0, world); }

static void reduce(const struct call* c) {
  MPI_Reduce(input_with_root(c), c->out, c->count, c->type, MPI_SUM, 0, world);
}

static void all_gather(const struct call* c) {
  MPI_Allgather(input(c), c->count, c->type, c->out, c->count, c->type, world);
}

static void reduce_scatter(const struct call* c) {
  MPI_Reduce_scatter_block(input(c), c->out, c->count, c->type, MPI_SUM, world);
}

static void all_to_all(const struct call* c) {
  MPI_Alltoall(c->in, c->count, c->type, c->out, c->count, c->type, world);
}

static void gather(const struct call* c) {
  MPI_Gather(input_with_root(c), c->count, c->type, c->out, c->count, c->type, 0, world);
}

static void scatter(const struct call* c) {
  void* out = root_in_place(c) ? MPI_IN_PLACE : c->out;
  MPI_Scatter(c->in, c->count, c->type, out, c->count, c->type, 0, world);
}

static int right(const struct call* c) { return (c->rank + 1) % c->ranks; }

static void send_recv(const struct call* c) {
  MPI_Sendrecv(c->in, c->count, c->type, right(c), 0, c->out, c->count, c->type, left(c), 0, world,
               MPI_STATUS_IGNORE);
}

static void send(const struct call* c) { MPI_Send(c->in, c->count, c->type, right(c), 0, world); }

static void receive(const struct call* c) {
  MPI_Recv(c->out, c->count, c->type, left(c), 0, world, MPI_STATUS_IGNORE);
}

static void ping_pong(const struct call* c) {
  if (c->rank == 0) send(c);
  receive(c);
  if (c->rank != 0) send(c);
}

/* The messages of a window that this rank sends, or receives, or both. */
static void window(const struct call* c, int sends, int receives) {
  MPI_Request requests[2 * WINDOW];
  int i, number = 0;
  for (i = 0; i < WINDOW && receives; ++i)
    MPI_Irecv(c->out, c->count, c->type, left(c), 0, world, &requests[number++]);
  for (i = 0; i < WINDOW && sends; ++i)
    MPI_Isend(c->in, c->count, c->type, right(c), 0, world, &requests[number++]);
  MPI_Waitall(number, requests, MPI_STATUSES_IGNORE);
}

static void one_way(const struct call* c) {
  window(c, c->rank % 2 == 0 && c->rank + 1 < c->ranks, c->rank % 2);
}

static void both_ways(const struct call* c) { window(c, 1, 1); }

static void barrier(const struct call* c) {
  (void)c;
  MPI_Barrier(world);
}

static const struct collective table[] = {
    {"all_reduce", 0, 0, RESULT_EVERYWHERE, 1, all_reduce, sum_at},
    {"broadcast", 0, 0, RESULT_EVERYWHERE, 1, broadcast, from_root},
    {"reduce", 0, 0, RESULT_AT_ROOT, 1, reduce, sum_at},
    {"all_gather", 0, 1, RESULT_EVERYWHERE, 1, all_gather, from_each},
    {"reduce_scatter", 1, 0, RESULT_EVERYWHERE, 1, reduce_scatter, sum_of_block},
    {"all_to_all", 1, 1, RESULT_EVERYWHERE, 1, all_to_all, block_from_each},
    {"gather", 0, 1, RESULT_AT_ROOT, 1, gather, from_each},
    {"scatter", 1, 0, RESULT_EVERYWHERE, 1, scatter, block_from_root},
    {"send_recv", 0, 0, RESULT_EVERYWHERE, 1, send_recv, from_left},
    {"barrier", 0, 0, RESULT_NOWHERE, 1, barrier, NULL},
    {"ping_pong", 0, 0, RESULT_EVERYWHERE, ROUND, ping_pong, from_left},
    {"one_way", 0, 0, RESULT_AT_ODD, WINDOW, one_way, from_left},
    {"both_ways", 0, 0, RESULT_EVERYWHERE, WINDOW, both_ways, from_left},
};

const struct collective* collective_named(const char* name) {
  size_t i;
  for (i = 0; i < sizeof table / sizeof *table; ++i) {
    if (strcmp(table[i].name, name) == 0) return &table[i];
  }
  return NULL;
}
