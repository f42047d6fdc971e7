// Watch: the process's one thread that looks after calls which are in streams, where no thread of the host
// waits for them. It finds calls that last too long and kernels' notes of other calls at peers, and lets the
// streams of a communicator that has failed go on, for as long as that communicator lives. It also sees when
// peers open and close windows. It makes no call of CUDA, which could wait for the very streams that it is to
// free.
#pragma once

#include <memory>

#include "base/status.h"
#include "comm/peer_windows.h"
#include "comm/staging.h"

namespace rondo {

class Communicator;

/// While it lives, the calls of a rank are looked after. The communicator and the words outlive it.
class Watch {
 public:
  Watch(Communicator& communicator, const WordTable& words, std::shared_ptr<PeerWindows> windows);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

 private:
  class Watched;
  std::unique_ptr<Watched> watched_;
};

/// What a kernel of the rank has noted about a call that a peer makes otherwise; Ok where nothing is noted.
Status noted_mismatch(const WordTable& words, int rank);

/// Which rank has not come as far as the others; -1: none is known to be late.
int late_rank(const WordTable& words, int nranks, int self);

}  // namespace rondo
