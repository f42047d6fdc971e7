// SPDX-License-Identifier: Apache-2.0
// The Highway targets that the kernels are compiled for; included before any Highway header. Few, because
// each costs compile time: on memory-bound loops the omitted ones gain nothing over the next simpler one. SVE
// and RVV vectors cannot be struct members, which the kernels' types rely on.
#pragma once

// Threads see the same reads and writes from each of them, so ThreadSanitizer, whose runs omit the tests of
// the kernels, needs no more than one with vectors.
#if defined(__SANITIZE_THREAD__)
#define RONDO_ALIKE_TO_THREADS (HWY_SSE4 | HWY_AVX3)
#else
#define RONDO_ALIKE_TO_THREADS 0
#endif

#define HWY_DISABLED_TARGETS                                                                         \
  (HWY_SSE2 | HWY_SSSE3 | HWY_AVX3_DL | HWY_AVX3_ZEN4 | HWY_AVX3_SPR | HWY_AVX10_2 | HWY_NEON_BF16 | \
   HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV | RONDO_ALIKE_TO_THREADS)

#include "hwy/detect_targets.h"

// Targets unknown to older Highway versions.
#ifndef HWY_SSE2
#define HWY_SSE2 0LL
#endif
#ifndef HWY_AVX3_ZEN4
#define HWY_AVX3_ZEN4 0LL
#endif
#ifndef HWY_AVX3_SPR
#define HWY_AVX3_SPR 0LL
#endif
#ifndef HWY_AVX10_2
#define HWY_AVX10_2 0LL
#endif
#ifndef HWY_NEON_BF16
#define HWY_NEON_BF16 0LL
#endif

// Whether the current target has no vectors, or only emulated ones: the reference then serves as the kernel.
#define RONDO_NO_VECTORS (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128)
