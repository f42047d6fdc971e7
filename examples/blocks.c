// SPDX-License-Identifier: Apache-2.0
/* Heat on a square whose edges are joined (a torus), cut into blocks on a grid of ranks. In every step each
 * rank sends the four edges of its block to its neighbours and receives theirs, its halo:
 *
 *                 up
 *              . . . . .
 *            . +-------+ .     halo points lie outside of the block, edges inside
 *      left  . | block | .  right
 *            . +-------+ .
 *              . . . . .
 *                down
 *
 * These are eight messages, the same in every step: they are prepared once and started together. While they
 * travel, the rank computes the points that need no halo. The greatest change of a point over all ranks, also
 * prepared, tells how far the heat is from rest.
 *
 * At the end every rank also computes the whole square by itself: the arithmetic is the same, so the
 * temperatures must be bitwise equal.
 *
 *   rondo-run -n 6 blocks */
#include <rondo/rondo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 120, STEPS = 300 }; /* points a side */
enum { UP, DOWN, LEFT, RIGHT, SIDES };

static int opposite(int side) { return side ^ 1; }

/* Exits if a call failed; the launcher then stops the other ranks. */
static void check(rondo_status_t status, rondo_comm_t comm) {
  if (status == RONDO_OK) return;
  fprintf(stderr, "blocks: %s\n", rondo_last_error(comm));
  exit(1);
}

static double* doubles(size_t count) {
  double* made = calloc(count, sizeof(double));
  if (made != NULL) return made;
  fprintf(stderr, "blocks: no memory for %zu points\n", count);
  exit(1);
}

/* A block of the square, surrounded by a frame of halo points. */
typedef struct {
  int rows, columns;
  double *now, *next;
} Block;

static size_t at(const Block* block, int row, int column) {
  return (size_t)row * (size_t)(block->columns + 2) + (size_t)column;
}

/* Begins with one hot corner of the square. */
static Block make_block(int rows, int columns, int first_row, int first_column) {
  const size_t points = (size_t)(rows + 2) * (size_t)(columns + 2);
  Block block = {rows, columns, doubles(points), doubles(points)};
  for (int row = 1; row <= rows; ++row)
    for (int column = 1; column <= columns; ++column)
      if (first_row + row <= POINTS / 3 && first_column + column <= POINTS / 4)
        block.now[at(&block, row, column)] = 100.0;
  return block;
}

static void free_block(Block* block) {
  free(block->now);
  free(block->next);
}

static int length(const Block* block, int side) { return side <= DOWN ? block->columns : block->rows; }

/* The i-th point, from 0, of an edge, or of the halo outside of it. */
static size_t on_side(const Block* block, int side, int is_halo, int i) {
  const int before = is_halo ? 0 : 1, after = is_halo ? 1 : 0;
  switch (side) {
    case UP: return at(block, before, i + 1);
    case DOWN: return at(block, block->rows + after, i + 1);
    case LEFT: return at(block, i + 1, before);
    default: return at(block, i + 1, block->columns + after);
  }
}

static void pack(const Block* block, double* const edges[SIDES]) {
  for (int side = 0; side < SIDES; ++side)
    for (int i = 0; i < length(block, side); ++i) edges[side][i] = block->now[on_side(block, side, 0, i)];
}

static void unpack(Block* block, double* const halos[SIDES]) {
  for (int side = 0; side < SIDES; ++side)
    for (int i = 0; i < length(block, side); ++i) block->now[on_side(block, side, 1, i)] = halos[side][i];
}

/* Computes the points of some rows and columns; returns the greatest change of a point. */
static double compute(Block* block, int first_row, int last_row, int first_column, int last_column) {
  const double* now = block->now;
  double greatest = 0.0;
  for (int row = first_row; row <= last_row; ++row)
    for (int column = first_column; column <= last_column; ++column) {
      const size_t here = at(block, row, column);
      const double around = (now[at(block, row - 1, column)] + now[at(block, row + 1, column)]) +
                            (now[here - 1] + now[here + 1]);
      const double change = 0.2 * (around - 4.0 * now[here]);
      block->next[here] = now[here] + change;
      if (change > greatest) greatest = change;
      if (-change > greatest) greatest = -change;
    }
  return greatest;
}

static double greater(double a, double b) { return a > b ? a : b; }

static double compute_inner(Block* block) {
  return compute(block, 2, block->rows - 1, 2, block->columns - 1);
}

static double compute_edges(Block* block) {
  const int rows = block->rows, columns = block->columns;
  const double across = greater(compute(block, 1, 1, 1, columns), compute(block, rows, rows, 1, columns));
  return greater(across, greater(compute(block, 1, rows, 1, 1), compute(block, 1, rows, columns, columns)));
}

static void finish_step(Block* block) {
  double* old = block->now;
  block->now = block->next;
  block->next = old;
}

/* Returns how many points of the block differ from the whole square as computed by this rank alone. */
static int64_t count_wrong(const Block* block, int first_row, int first_column) {
  Block whole = make_block(POINTS, POINTS, 0, 0);
  double* edges[SIDES];
  for (int side = 0; side < SIDES; ++side) edges[side] = doubles(POINTS);
  double* const halos[SIDES] = {edges[DOWN], edges[UP], edges[RIGHT], edges[LEFT]};
  for (int step = 0; step < STEPS; ++step) {
    pack(&whole, edges);
    unpack(&whole, halos);
    compute(&whole, 1, POINTS, 1, POINTS);
    finish_step(&whole);
  }
  int64_t wrong = 0;
  for (int row = 1; row <= block->rows; ++row)
    for (int column = 1; column <= block->columns; ++column)
      wrong +=
          block->now[at(block, row, column)] != whole.now[at(&whole, first_row + row, first_column + column)];
  for (int side = 0; side < SIDES; ++side) free(edges[side]);
  free_block(&whole);
  return wrong;
}

int main(void) {
  rondo_comm_t comm = NULL;
  int rank = 0, size = 0;
  check(rondo_init(&comm, NULL, NULL), NULL);
  check(rondo_rank(comm, &rank), comm);
  check(rondo_size(comm, &size), comm);

  int down = 1; /* ranks of the grid below one another: as square as it can be */
  for (int i = 2; i * i <= size; ++i)
    if (size % i == 0) down = i;
  const int across = size / down, y = rank / across, x = rank % across;
  if (across > POINTS / 2) {
    fprintf(stderr, "blocks: %d points cannot be cut into %d blocks\n", POINTS, across);
    return 2;
  }
  const int first_row = POINTS * y / down, first_column = POINTS * x / across;
  Block block = make_block(POINTS * (y + 1) / down - first_row, POINTS * (x + 1) / across - first_column,
                           first_row, first_column);
  const int neighbours[SIDES] = {(y + down - 1) % down * across + x, (y + 1) % down * across + x,
                                 y * across + (x + across - 1) % across, y * across + (x + 1) % across};

  double *edges[SIDES], *halos[SIDES];
  rondo_request_t exchange = NULL, agree = NULL;
  check(rondo_group_start(), NULL);
  for (int side = 0; side < SIDES; ++side) {
    const size_t count = (size_t)length(&block, side);
    edges[side] = doubles(count);
    halos[side] = doubles(count);
    check(rondo_send(edges[side], count, RONDO_FLOAT64, neighbours[side], side, comm, NULL), comm);
    check(rondo_recv(halos[side], count, RONDO_FLOAT64, neighbours[side], opposite(side), comm, NULL, NULL),
          comm);
  }
  check(rondo_group_prepare(&exchange), comm);

  double change = 0.0;
  check(rondo_group_start(), NULL);
  check(rondo_all_reduce(&change, &change, 1, RONDO_FLOAT64, RONDO_MAX, comm, NULL), comm);
  check(rondo_group_prepare(&agree), comm);

  for (int step = 0; step < STEPS; ++step) {
    pack(&block, edges);
    check(rondo_request_start(exchange), comm);
    change = compute_inner(&block); /* meanwhile */
    check(rondo_request_wait(exchange, 0), comm);
    unpack(&block, halos);
    change = greater(change, compute_edges(&block));
    finish_step(&block);
    check(rondo_request_run(agree), comm);
    if (rank == 0 && step % 100 == 0) printf("step %d: greatest change %g\n", step + 1, change);
  }
  check(rondo_request_free(exchange), NULL);
  check(rondo_request_free(agree), NULL);

  int64_t wrong = count_wrong(&block, first_row, first_column);
  check(rondo_all_reduce(&wrong, &wrong, 1, RONDO_INT64, RONDO_SUM, comm, NULL), comm);
  if (rank == 0)
    printf("%d x %d points, %d steps on %d x %d ranks: %lld points differ from the serial solution\n", POINTS,
           POINTS, STEPS, down, across, (long long)wrong);
  for (int side = 0; side < SIDES; ++side) {
    free(edges[side]);
    free(halos[side]);
  }
  free_block(&block);
  check(rondo_destroy(comm), NULL);
  return wrong == 0 ? 0 : 1;
}
