// CommonMemory: memory that all ranks of a communicator see, where they are on one host. Ranks of one process
// share it as it is; otherwise rank 0 makes it and passes it to the others over their own sockets. Nothing
// here waits, but for the making of a socket. Used by the thread that makes the calls.
#pragma once

#include <memory>
#include <vector>

#include "base/shared_segment.h"
#include "comm/health.h"
#include "comm/session.h"

namespace rondo {

class CommonMemory {
 public:
  struct Parties {
    std::shared_ptr<Session> session;
    uint64_t communicator = 0;
    std::vector<int> ranks;  // of the session, by the communicator's ranks
    int self = 0;
    std::shared_ptr<Health> health;
    int64_t timeout_ms = 0;
  };
  CommonMemory(Parties parties, size_t bytes);

  /// Whether it is there, at this rank, and rank 0 has nothing left to do for others.
  Result<bool> advance();
  /// Zeros at the beginning.
  std::byte* data() const { return segment_->data(); }
  /// Whom advance() waits for.
  int blocked_on() const;

 private:
  bool is_root() const { return parties_.self == 0; }
  bool all_here() const;
  Result<bool> take();
  Result<bool> pass();

  Parties parties_;
  size_t bytes_;
  std::shared_ptr<SharedSegment> segment_;
  Fd memfd_;                  // rank 0's, until all have it
  std::vector<bool> served_;  // by rank, at rank 0
  Fd socket_;                 // to rank 0
  bool there_ = false;
};

}  // namespace rondo
