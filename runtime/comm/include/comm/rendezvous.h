// Rendezvous: how the processes of a job come by one unique id. Rank 0 makes it and gives it to whoever
// proves that it knows the job's secret; without a secret only to processes of the same user on the same
// host, as the kernel vouches for them. Any thread.
#pragma once

#include <memory>
#include <string>

#include "comm/launch.h"
#include "comm/unique_id.h"

namespace rondo {

/// The unique id at one rank, and what keeps it available to others until this rank has joined.
struct Meeting {
  UniqueId id;
  std::shared_ptr<void> keep;  // rank 0's: listeners or a file; gone with it
  Interrupt superseded;        // where the id can be an earlier run's: fails once there is another one
};

struct Method {
  enum class Kind { Environment, Tcp, File };
  Kind kind = Kind::Environment;
  std::string path;  // File
  Launch launch;     // rank, size and where to meet
};

/// "env://", "tcp://host:port?rank=R&size=N", "file:///path?rank=R&size=N"; what the text leaves out comes
/// from the environment. With env:// a process that no launcher started is alone.
Result<Method> parse_method(const std::string& text);

/// Makes (rank 0) or gets (others) the id. `stale`: an id that turned out to be an earlier run's; null at
/// first.
Result<Meeting> meet(const Method& method, int64_t timeout_ms, const UniqueId* stale);

}  // namespace rondo
