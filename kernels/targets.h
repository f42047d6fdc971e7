// Which of Highway's targets the kernels are compiled for; included before any header of Highway's.
// Few, because each costs compile time: those left out gain nothing on memory-bound loops over the next
// simpler one. The vectors of SVE and RVV cannot be members of a struct, which the kernels' types rely on.
#pragma once

#define HWY_DISABLED_TARGETS                                                                         \
  (HWY_SSE2 | HWY_SSSE3 | HWY_AVX3_DL | HWY_AVX3_ZEN4 | HWY_AVX3_SPR | HWY_AVX10_2 | HWY_NEON_BF16 | \
   HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)

#include "hwy/detect_targets.h"

// Names that this version of Highway does not know yet.
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

// Whether the target at hand has no vectors, or emulated ones: there the reference is the kernel.
#define RONDO_NO_VECTORS (HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128)
