// SPDX-License-Identifier: Apache-2.0
// HostSegment: memory shared by all ranks of a communicator on one host. Ranks of one process share it
// directly; otherwise rank 0 creates it and passes it to each of the others over a socket. Nothing blocks.
// Used by the thread that makes the calls.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/background.h"
#include "base/shared_segment.h"
#include "bootstrap/membership.h"

namespace rondo {

class HostSegment {
 public:
  HostSegment(MembershipPtr membership, size_t bytes);
  ~HostSegment() { closing_ = true; }

  /// Whether this rank has the memory and, at rank 0, all others have it too.
  Result<bool> advance();
  /// Initially zero.
  std::byte* data() const { return segment_->data(); }
  /// The rank that advance() waits for.
  int blocked_on() const;

 private:
  bool is_root() const { return membership_->rank() == 0; }
  bool all_here() const;
  Result<bool> take();
  Result<Fd> reach_root() const;
  Result<bool> pass();

  MembershipPtr membership_;
  size_t bytes_;
  std::shared_ptr<SharedSegment> segment_;
  Fd memfd_;                  // at rank 0, until all have it
  std::vector<bool> served_;  // at rank 0, by rank
  Fd socket_;                 // to rank 0
  bool there_ = false;
  std::atomic<bool> closing_{false};  // rank 0 is not dialled any more
  Background<Result<Fd>> dialling_;
};

}  // namespace rondo
