// SPDX-License-Identifier: Apache-2.0
// Trains a network of one hidden layer on data of its own by stochastic gradient descent: each rank has a
// part of each batch, and gradients are averaged. Prints the bits of each step's loss, which must not depend
// on how messages travel.
//
// Usage: training STEPS
#include <math.h>
#include <rondo/rondo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kInputs = 64, kHidden = 256, kBatch = 8, kWeights = kInputs * kHidden + kHidden };

// The hidden layer's weights, then those of the only output; the last gradient is the loss.
static float weights[kWeights], gradients[kWeights + 1];
static uint64_t state;

static float next_random(void) {
  state = state * 6364136223846793005U + 1442695040888963407U;
  return (float)(state >> 40) / (float)(1 << 24) - 0.5F;
}

static float hidden_value(const float* input, int unit) {
  float sum = 0;
  for (int i = 0; i < kInputs; ++i) sum += input[i] * weights[unit * kInputs + i];
  return sum > 0 ? sum : 0;
}

static void add_gradients(const float* input, float wanted) {
  float hidden[kHidden], output = 0;
  const float* const last = weights + kInputs * kHidden;
  for (int unit = 0; unit < kHidden; ++unit)
    output += last[unit] * (hidden[unit] = hidden_value(input, unit));
  const float error = output - wanted;
  for (int unit = 0; unit < kHidden; ++unit) {
    gradients[kInputs * kHidden + unit] += error * hidden[unit];
    if (hidden[unit] == 0) continue;
    for (int i = 0; i < kInputs; ++i) gradients[unit * kInputs + i] += error * last[unit] * input[i];
  }
  gradients[kWeights] += error * error;
}

static void add_batch(void) {
  memset(gradients, 0, sizeof gradients);
  for (int sample = 0; sample < kBatch; ++sample) {
    float input[kInputs], wanted = 0;
    for (int i = 0; i < kInputs; ++i) input[i] = next_random();
    for (int i = 0; i < 8; ++i) wanted += input[i] * input[i + 8];
    add_gradients(input, wanted);
  }
}

static int fail(rondo_comm_t comm) {
  fprintf(stderr, "training: %s\n", rondo_last_error(comm));
  return 1;
}

int main(int argc, char** argv) {
  const int steps = argc == 2 ? atoi(argv[1]) : 0;
  rondo_comm_t comm;
  int rank;
  if (rondo_init(&comm, NULL, NULL) != RONDO_OK) return fail(NULL);
  rondo_rank(comm, &rank);
  for (int i = 0; i < kWeights; ++i) weights[i] = next_random() / 8;
  state += (uint64_t)rank;
  for (int step = 0; step < steps; ++step) {
    add_batch();
    if (rondo_all_reduce(gradients, gradients, kWeights + 1, RONDO_FLOAT32, RONDO_AVG, comm, NULL) !=
        RONDO_OK)
      return fail(comm);
    for (int i = 0; i < kWeights; ++i) weights[i] -= 0.01F * gradients[i];
    uint32_t loss;
    memcpy(&loss, &gradients[kWeights], sizeof loss);
    printf("step %d: %08x %g\n", step, loss, (double)gradients[kWeights]);
    fflush(stdout);
  }
  return rondo_destroy(comm) == RONDO_OK ? 0 : 1;
}
