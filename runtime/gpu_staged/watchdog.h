// SPDX-License-Identifier: Apache-2.0
// Watchdog: the process's one thread that supervises calls in streams, which no host thread waits for. It
// detects stalled calls and mismatches noted by kernels, and unblocks the streams of a failed communicator
// until that communicator is destroyed. It also notices when peers open and close windows. It makes no CUDA
// calls, which could wait for the very streams that it must unblock.
#pragma once

#include <memory>

#include "base/status.h"
#include "bootstrap/membership.h"
#include "imported_windows.h"
#include "staging.h"

namespace rondo {

/// Supervises the calls of a rank during its lifetime. The words must outlive it.
class Watchdog {
 public:
  Watchdog(MembershipPtr membership, const WordTable& words, std::shared_ptr<ImportedWindows> windows);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  class WatchedComm;
  std::unique_ptr<WatchedComm> watched_;
};

/// The mismatch with a peer's call that a kernel of the rank has noted; Ok if none.
Status noted_mismatch(const WordTable& words, int rank);

/// The peer that has progressed least; -1: none is known to be late.
int late_rank(const WordTable& words, int nranks, int self);

}  // namespace rondo
