// SPDX-License-Identifier: Apache-2.0
// GPU calls that several tests make.
#pragma once

#include "exchange.h"
#include "gpu.h"
#include "oracle.h"

namespace rondo::test {

/// Reductions need aligned elements, and recvbuf is shifted half as far as sendbuf.
inline Trial aligned(Trial trial) {
  const size_t unit = 2 * type_bytes(trial.type);
  if (reduces(trial.kind)) trial.shift = trial.shift / 4 * unit;
  return trial;
}

inline void run_on(Rank rank, const ForeignMemory& memory, const Trial& trial) {
  rank.memory = &memory;
  run_trial(rank, aligned(trial));
}

inline void run_here(const Rank& rank, int device, gpu::MemoryKind kind, const Trial& trial) {
  run_on(rank, foreign_memory(kind, device), trial);
}

inline void every_kind(const Rank& rank, const ForeignMemory& memory) {
  for (const Kind kind : kAllCollectives) {
    Trial trial{.kind = kind};
    for (trial.root = 0; trial.root < (has_root(kind) ? rank.size : 1); ++trial.root)
      for (const size_t count : {0u, 1u, 13u, 1009u}) {
        trial.count = count;
        trial.seed = mix(count, static_cast<uint64_t>(trial.root));
        trial.varying = traits(kind).has_blocks() && trial.seed % 2 == 0;
        trial.in_place = kind != Kind::Barrier && trial.seed % 3 == 0;
        trial.shift = trial.seed % 5;
        run_on(rank, memory, trial);
      }
  }
}

inline void every_kind(const Rank& rank, int device) {
  every_kind(rank, foreign_memory(gpu::MemoryKind::Device, device));
}

inline void random_calls(Rank rank, int device, uint64_t first_seed, int calls) {
  const ForeignMemory memory = foreign_memory(gpu::MemoryKind::Device, device);
  rank.memory = &memory;
  for (int i = 0; i < calls; ++i)
    run_trial(rank, aligned(random_trial(first_seed + static_cast<uint64_t>(i), rank.size, 600)));
}

}  // namespace rondo::test
