// SPDX-License-Identifier: Apache-2.0
/* Times an MPI collective the way rondo-perf times Rondo's: one call on known data, warm-up, a barrier, then
 * the calls back to back; the result is the mean time per call over the ranks.
 *
 * mpi_driver COLLECTIVE TYPE IN_PLACE FRESH MAX_SECONDS BYTES:ITERATIONS:WARMUP...
 *
 * Prints '# ' and the library's version, and 'BYTES MICROSECONDS' for each size. Runs fewer iterations if
 * those of a size would take more than MAX_SECONDS. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi_calls.h"

enum { PAGE = 4096, MIN_ITERATIONS = 5 };

struct type {
  const char* name;
  MPI_Datatype mpi;
  size_t bytes;
};

struct step {
  long bytes;
  int iterations, warmup;
};

struct bench {
  const struct collective* what;
  struct type type;
  struct call call;
  int fresh; /* inputs are written anew before each call, untimed */
  double max_seconds;
  char *send, *recv;
};

/* Only rank 0 prints, since every rank sees the same fault. */
static void give_up(const char* what, const char* value) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) fprintf(stderr, "mpi_driver: %s%s\n", what, value);
  MPI_Finalize();
  exit(2);
}

static struct type type_named(const char* name) {
  const struct type types[] = {
      {"float", MPI_FLOAT, 4},
      {"double", MPI_DOUBLE, 8},
#ifdef MPIX_C_FLOAT16
      {"half", MPIX_C_FLOAT16, 2},
#endif
  };
  size_t i;
  for (i = 0; i < sizeof types / sizeof *types; ++i) {
    if (strcmp(types[i].name, name) == 0) return types[i];
  }
  give_up("this MPI has no type ", name);
  return types[0];
}

static struct step parse_step(const char* text) {
  struct step step;
  if (sscanf(text, "%ld:%d:%d", &step.bytes, &step.iterations, &step.warmup) != 3)
    give_up("expected BYTES:ITERATIONS:WARMUP, got ", text);
  return step;
}

static void put(const struct bench* b, char* at, size_t index, double value) {
  if (b->type.bytes == sizeof(double)) ((double*)at)[index] = value;
  if (b->type.bytes == sizeof(float)) ((float*)at)[index] = (float)value;
#ifdef MPIX_C_FLOAT16
  if (b->type.bytes == sizeof(_Float16)) ((_Float16*)at)[index] = (_Float16)value;
#endif
}

static double get(const struct bench* b, const char* at, size_t index) {
#ifdef MPIX_C_FLOAT16
  if (b->type.bytes == sizeof(_Float16)) return (double)((const _Float16*)at)[index];
#endif
  return b->type.bytes == sizeof(double) ? ((const double*)at)[index] : ((const float*)at)[index];
}

static size_t extent(const struct call* c, int blocks) { return (size_t)c->count * (blocks ? c->ranks : 1); }

static void set_call(struct bench* b, long bytes) {
  const struct collective* what = b->what;
  const long per_count = (long)b->type.bytes * (what->blocks_in || what->blocks_out ? b->call.ranks : 1);
  /* MPI has only an in-place broadcast. */
  const int one_buffer = b->call.in_place || what->run == collective_named("broadcast")->run;
  const int own_block = one_buffer && what->blocks_out;
  if (bytes / per_count > INT_MAX) give_up("more elements than MPI counts", "");
  b->call.count = (int)(bytes / per_count);
  b->call.out = b->recv;
  b->call.in = !one_buffer ? b->send
                           : b->recv + (own_block ? (size_t)b->call.rank * b->call.count * b->type.bytes : 0);
}

static void fill(const struct bench* b) {
  const struct call* c = &b->call;
  char* in = (char*)c->in;
  size_t i;
  for (i = 0; i < extent(c, b->what->blocks_out); ++i) put(b, b->recv, i, -1);
  for (i = 0; i < extent(c, b->what->blocks_in); ++i) put(b, in, i, input_value(c->rank, i));
}

/* Returns the number of wrong elements in this rank's result of a call on known data. */
static double count_wrong(const struct bench* b) {
  const struct call* c = &b->call;
  double wrong = 0;
  size_t i;
  fill(b);
  b->what->run(c);
  if (b->what->result == RESULT_AT_ROOT && c->rank != 0) return 0;
  if (b->what->result == RESULT_AT_ODD && c->rank % 2 == 0) return 0;
  for (i = 0; i < extent(c, b->what->blocks_out); ++i) wrong += get(b, c->out, i) != b->what->expected(c, i);
  return wrong;
}

static double over_ranks(double mine, MPI_Op op) {
  double all;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, op, MPI_COMM_WORLD);
  return all;
}

static void check(const struct bench* b) {
  char words[32];
  double wrong;
  if (b->what->result == RESULT_NOWHERE) return;
  wrong = over_ranks(count_wrong(b), MPI_SUM);
  snprintf(words, sizeof words, "%.0f", wrong);
  if (wrong > 0) give_up("wrong elements: ", words);
}

/* Microseconds of a call on this rank. */
static double time_calls(const struct bench* b, int calls) {
  const size_t bytes = extent(&b->call, b->what->blocks_in) * b->type.bytes;
  double start, untimed = 0;
  int i;
  MPI_Barrier(MPI_COMM_WORLD);
  start = MPI_Wtime();
  for (i = 0; i < calls; ++i) {
    if (b->fresh) {
      const double from = MPI_Wtime();
      memset((char*)b->call.in, 0, bytes);
      MPI_Barrier(MPI_COMM_WORLD);
      untimed += MPI_Wtime() - from;
    }
    b->what->run(&b->call);
  }
  return (MPI_Wtime() - start - untimed) * 1e6 / calls;
}

/* Microseconds of a call, or of one of its messages. */
static double measure(const struct bench* b, struct step step, size_t bytes) {
  const int messages = b->what->messages == ROUND ? b->call.ranks : b->what->messages;
  double slowest_us, affordable;
  memset(b->send, 0, bytes); /* sums of zeros stay zeros */
  memset(b->recv, 0, bytes);
  slowest_us = over_ranks(time_calls(b, step.warmup), MPI_MAX);
  affordable = b->max_seconds * 1e6 / slowest_us;
  if (affordable < MIN_ITERATIONS) affordable = MIN_ITERATIONS;
  if (affordable < step.iterations) step.iterations = (int)affordable;
  return over_ranks(time_calls(b, step.iterations), MPI_SUM) / b->call.ranks / messages;
}

static char* page_aligned(size_t bytes) {
  char* at = aligned_alloc(PAGE, (bytes / PAGE + 1) * PAGE);
  if (at == NULL) give_up("no memory for the buffers", "");
  return at;
}

static void print_version(void) {
  char version[MPI_MAX_LIBRARY_VERSION_STRING];
  int length;
  MPI_Get_library_version(version, &length);
  printf("# %.*s\n", (int)strcspn(version, "\n"), version);
}

static void run_step(struct bench* b, struct step step) {
  double us;
  set_call(b, step.bytes);
  check(b);
  us = measure(b, step, (size_t)step.bytes);
  if (b->call.rank == 0) printf("%ld %.4f\n", step.bytes, us);
  fflush(stdout);
}

static void run_steps(struct bench* b, char** steps, int number) {
  size_t max_bytes = 0;
  int i;
  for (i = 0; i < number; ++i) {
    const size_t bytes = (size_t)parse_step(steps[i]).bytes;
    if (bytes > max_bytes) max_bytes = bytes;
  }
  b->send = page_aligned(max_bytes);
  b->recv = page_aligned(max_bytes);
  for (i = 0; i < number; ++i) run_step(b, parse_step(steps[i]));
  free(b->send);
  free(b->recv);
}

int main(int argc, char** argv) {
  struct bench b;
  memset(&b, 0, sizeof b);
  MPI_Init(&argc, &argv);
  if (argc < 7)
    give_up("usage: mpi_driver COLLECTIVE TYPE IN_PLACE FRESH MAX_SECONDS BYTES:ITERATIONS:WARMUP...", "");
  MPI_Comm_rank(MPI_COMM_WORLD, &b.call.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &b.call.ranks);
  b.what = collective_named(argv[1]);
  if (b.what == NULL) give_up("there is no collective ", argv[1]);
  b.type = type_named(argv[2]);
  b.call.type = b.type.mpi;
  b.call.in_place = atoi(argv[3]);
  b.fresh = atoi(argv[4]);
  b.max_seconds = atof(argv[5]);
  if (b.call.rank == 0) print_version();
  run_steps(&b, argv + 6, argc - 6);
  MPI_Finalize();
  return 0;
}
