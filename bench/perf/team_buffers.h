// SPDX-License-Identifier: Apache-2.0
// The buffers of a team's ranks, large enough for every row of a table. Used by the team's thread.
#pragma once

#include "trial.h"

namespace rondo::perf {

class TeamBuffers {
 public:
  /// Allocates buffers for calls of that size, and registers them if the options say so.
  rondo_status_t open(const Team& team, const std::vector<Trial>& largest, size_t element_bytes);
  rondo_status_t close();
  /// After a failure: registrations ended with their communicator.
  void drop();

  /// The buffers of a member, by index.
  Buffers* of(size_t member) const { return buffers_[member].get(); }

 private:
  rondo_status_t enroll(rondo_comm_t comm, void* at, size_t bytes);

  struct RegisteredBuffer {
    rondo_comm_t comm;
    void* handle;
  };
  std::vector<std::unique_ptr<Buffers>> buffers_;
  std::vector<RegisteredBuffer> registered_;
};

}  // namespace rondo::perf
