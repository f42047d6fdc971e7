// SPDX-License-Identifier: Apache-2.0
/* Computes the temperature of a square plate whose upper edge is hot, by Jacobi's method on several ranks.
 *
 * The plate is cut into bands of rows, one band per rank. In each iteration every point becomes the mean of
 * its four neighbours; the rows across a cut are received from the neighbouring rank ("halo" rows):
 *
 *      rank 0    . . . . . .
 *                a a a a a a   last row of rank 0  --.   .--> rank 0's lower halo
 *      ------------------------------------------    \ /
 *                b b b b b b   first row of rank 1 ---'-'---> rank 1's upper halo
 *      rank 1    . . . . . .
 *
 * At the end every rank also solves the whole plate by itself and compares: the arithmetic is the same, so
 * the temperatures must be bitwise equal.
 *
 *   rondo-run -n 4 jacobi [-n points a side] [-i iterations] */
#include <rondo/rondo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { UPWARDS, DOWNWARDS }; /* tags: which way a row travels */

/* Exits if a call failed; the launcher then stops the other ranks. */
static void check(rondo_status_t status, rondo_comm_t comm) {
  if (status == RONDO_OK) return;
  fprintf(stderr, "jacobi: %s\n", rondo_last_error(comm));
  exit(1);
}

/* A band of `rows` rows of n points, surrounded by a frame of fixed or halo points. */
typedef struct {
  int n, rows;
  double *now, *next;
} Band;

static double* row_of(const Band* band, double* points, int row) {
  return points + (size_t)row * (size_t)(band->n + 2);
}

static Band make_band(int n, int rows, int is_top) {
  Band band = {n, rows, NULL, NULL};
  const size_t points = (size_t)(rows + 2) * (size_t)(n + 2);
  band.now = calloc(points, sizeof(double));
  band.next = calloc(points, sizeof(double));
  if (band.now == NULL || band.next == NULL) {
    fprintf(stderr, "jacobi: no memory for %zu points\n", points);
    exit(1);
  }
  for (int column = 1; is_top && column <= n; ++column) band.now[column] = band.next[column] = 100.0;
  return band;
}

static void free_band(Band* band) {
  free(band->now);
  free(band->next);
}

/* One iteration over the band; returns the largest change of a point. */
static double sweep(Band* band) {
  double largest = 0.0;
  for (int row = 1; row <= band->rows; ++row) {
    const double* above = row_of(band, band->now, row - 1);
    const double* here = row_of(band, band->now, row);
    const double* below = row_of(band, band->now, row + 1);
    double* out = row_of(band, band->next, row);
    for (int column = 1; column <= band->n; ++column) {
      out[column] = 0.25 * ((above[column] + below[column]) + (here[column - 1] + here[column + 1]));
      const double change =
          out[column] > here[column] ? out[column] - here[column] : here[column] - out[column];
      if (change > largest) largest = change;
    }
  }
  double* old = band->now;
  band->now = band->next;
  band->next = old;
  return largest;
}

/* Exchanges the rows at the cuts with the ranks above and below. The calls of a group progress together, so
 * their order does not matter. */
static void exchange_halos(Band* band, int rank, int size, rondo_comm_t comm) {
  const size_t n = (size_t)band->n;
  double* first = row_of(band, band->now, 1) + 1;
  double* last = row_of(band, band->now, band->rows) + 1;
  double* upper_halo = row_of(band, band->now, 0) + 1;
  double* lower_halo = row_of(band, band->now, band->rows + 1) + 1;
  check(rondo_group_start(), NULL);
  if (rank > 0) {
    check(rondo_send(first, n, RONDO_FLOAT64, rank - 1, UPWARDS, comm, NULL), comm);
    check(rondo_recv(upper_halo, n, RONDO_FLOAT64, rank - 1, DOWNWARDS, comm, NULL, NULL), comm);
  }
  if (rank < size - 1) {
    check(rondo_send(last, n, RONDO_FLOAT64, rank + 1, DOWNWARDS, comm, NULL), comm);
    check(rondo_recv(lower_halo, n, RONDO_FLOAT64, rank + 1, UPWARDS, comm, NULL, NULL), comm);
  }
  check(rondo_group_end(), comm);
}

/* Returns how many points of the band differ from the whole plate as solved by this rank alone. */
static int64_t count_wrong(const Band* band, int first_row, int iterations) {
  Band whole = make_band(band->n, band->n, 1);
  for (int i = 0; i < iterations; ++i) sweep(&whole);
  int64_t wrong = 0;
  for (int row = 1; row <= band->rows; ++row)
    for (int column = 1; column <= band->n; ++column)
      wrong += row_of(band, band->now, row)[column] != row_of(&whole, whole.now, first_row + row)[column];
  free_band(&whole);
  return wrong;
}

/* Returns the value of an option: a whole number from 1 to 100000. */
static int option(int argc, char** argv, const char* name, int otherwise) {
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], name) != 0) continue;
    char* end = NULL;
    const long value = strtol(argv[i + 1], &end, 10);
    if (*end == '\0' && value >= 1 && value <= 100000) return (int)value;
    fprintf(stderr, "jacobi: %s is '%s': it must be a whole number from 1 to 100000\n", name, argv[i + 1]);
    exit(2);
  }
  return otherwise;
}

static void check_options(int argc, char** argv) {
  for (int i = 1; i < argc; i += 2) {
    if (i + 1 < argc && (strcmp(argv[i], "-n") == 0 || strcmp(argv[i], "-i") == 0)) continue;
    fprintf(stderr, "jacobi: '%s' is not an option\nusage: jacobi [-n points a side] [-i iterations]\n",
            argv[i]);
    exit(2);
  }
}

int main(int argc, char** argv) {
  check_options(argc, argv);
  const int n = option(argc, argv, "-n", 64);
  const int iterations = option(argc, argv, "-i", 2000);

  rondo_comm_t comm = NULL;
  int rank = 0, size = 0;
  check(rondo_init(&comm, NULL, NULL), NULL);
  check(rondo_rank(comm, &rank), comm);
  check(rondo_size(comm, &size), comm);

  /* Rank r owns rows first_row + 1 to first_row + rows of 1 to n. */
  const int first_row = (int)((int64_t)n * rank / size);
  const int rows = (int)((int64_t)n * (rank + 1) / size) - first_row;
  if (n < size) {
    fprintf(stderr, "jacobi: %d rows cannot be cut into %d bands: use -n %d or more\n", n, size, size);
    return 2;
  }
  Band band = make_band(n, rows, rank == 0);
  double residual = 0.0;
  for (int i = 0; i < iterations; ++i) {
    exchange_halos(&band, rank, size, comm);
    residual = sweep(&band);
    check(rondo_all_reduce(&residual, &residual, 1, RONDO_FLOAT64, RONDO_MAX, comm, NULL), comm);
    if (rank == 0 && i % (iterations / 4 + 1) == 0)
      printf("iteration %d: largest change %g\n", i + 1, residual);
  }

  int64_t wrong = count_wrong(&band, first_row, iterations);
  check(rondo_all_reduce(&wrong, &wrong, 1, RONDO_INT64, RONDO_SUM, comm, NULL), comm);
  if (rank == 0)
    printf(
        "%d x %d points, %d iterations on %d ranks: largest change %g, %lld points differ from the serial "
        "solution\n",
        n, n, iterations, size, residual, (long long)wrong);
  free_band(&band);
  check(rondo_destroy(comm), NULL);
  return wrong == 0 ? 0 : 1;
}
