// SPDX-License-Identifier: Apache-2.0
// Rendezvous: how the processes of a job obtain one unique id. Rank 0 creates it and sends it to every
// process that proves knowledge of the job's secret; without a secret, only to processes of the same user on
// the same host, by the credentials that the kernel reports. Any thread.
#pragma once

#include <memory>
#include <string>

#include "bootstrap/launcher_env.h"
#include "bootstrap/unique_id.h"

namespace rondo {

/// The unique id at one rank, and the handle that keeps it available to others until this rank has joined.
struct RendezvousResult {
  UniqueId id;
  std::shared_ptr<void> keep;  // rank 0's listeners or file, which go away with it
  Interrupt superseded;        // set if the id may be an earlier run's: fails once there is another one
};

struct Method {
  enum class Scheme { Environment, Tcp, File };
  Scheme scheme = Scheme::Environment;
  std::string path;    // File
  LauncherEnv launch;  // rank, size and the meeting place
};

/// "env://", "tcp://host:port?rank=R&size=N", "file:///path?rank=R&size=N"; values that the text omits come
/// from the environment. With env://, a process that no launcher started is alone.
Result<Method> parse_method(const std::string& text);

/// Creates (rank 0) or receives (others) the id. `stale`: an id that turned out to be an earlier run's; null
/// at first.
Result<RendezvousResult> meet(const Method& method, int64_t timeout_ms, const UniqueId* stale);

}  // namespace rondo
