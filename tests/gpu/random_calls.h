// Random collectives on GPU memory, for ranks of any kind of world.
#pragma once

#include "exchange.h"
#include "gpu.h"
#include "oracle.h"

namespace rondo::test {

/// Reductions need elements at their boundaries; a recvbuf lies half as far off as a sendbuf.
inline Trial aligned(Trial trial) {
  if (reduces(trial.kind)) trial.shift = trial.shift / 4 * 2 * type_bytes(trial.type);
  return trial;
}

inline void random_calls(Rank rank, int device, uint64_t first_seed, int calls) {
  const ForeignMemory memory = foreign_memory(gpu::MemoryKind::Device, device);
  rank.memory = &memory;
  for (int i = 0; i < calls; ++i) {
    Trial trial = random_trial(first_seed + static_cast<uint64_t>(i), rank.size, 600);
    run_trial(rank, aligned(trial));
  }
}

}  // namespace rondo::test
