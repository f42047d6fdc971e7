// Random collectives on GPU memory, for ranks of any kind of world.
#pragma once

#include "calls.h"

namespace rondo::test {

inline void random_calls(Rank rank, int device, uint64_t first_seed, int calls) {
  const ForeignMemory memory = foreign_memory(gpu::MemoryKind::Device, device);
  rank.memory = &memory;
  for (int i = 0; i < calls; ++i) {
    Trial trial = random_trial(first_seed + static_cast<uint64_t>(i), rank.size, 600);
    run_trial(rank, aligned(trial));
  }
}

}  // namespace rondo::test
