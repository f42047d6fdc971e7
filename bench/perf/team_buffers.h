// The buffers of a team's ranks, large enough for every row of a table. Used by the team's thread.
#pragma once

#include "trial.h"

namespace rondo::perf {

class TeamBuffers {
 public:
  /// Room for calls of that size, registered where the options want it.
  rondo_status_t open(const Team& team, const std::vector<Trial>& largest, size_t element_bytes);
  rondo_status_t close();
  /// After a failure: what was registered went with its communicator.
  void drop();

  /// Of the team's members, in their order.
  Buffers* of(size_t member) const { return buffers_[member].get(); }

 private:
  rondo_status_t enroll(rondo_comm_t comm, void* at, size_t bytes);

  struct Registered {
    rondo_comm_t comm;
    void* handle;
  };
  std::vector<std::unique_ptr<Buffers>> buffers_;
  std::vector<Registered> registered_;
};

}  // namespace rondo::perf
