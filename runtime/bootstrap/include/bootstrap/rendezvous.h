// SPDX-License-Identifier: Apache-2.0
// Rendezvous: how the processes of a job obtain one unique id. Rank 0 creates it and sends it to every
// process that proves knowledge of the job's secret; without a secret, only to processes of the same user on
// the same host, by the credentials that the kernel reports. Any thread.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "net/handshake.h"
#include "net/socket.h"

namespace rondo {

/// The content of rondo_unique_id_t: the bootstrap root's addresses and the session's secret.
struct UniqueId {
  static constexpr size_t kBytes = 128;
  static constexpr size_t kMaxAddresses = 3;

  Credentials credentials;
  uint64_t process = 0;  // of the root; its Unix name is derived from it
  uint16_t tcp_port = 0;
  std::vector<IpAddress> addresses;

  void write(std::span<std::byte, kBytes> out) const;
  /// InvalidArgument if the bytes are no unique id, or one of another version.
  static Result<UniqueId> read(std::span<const std::byte, kBytes> in);
};

/// Starts the bootstrap root of a new session in this process, which gives the ranks `timeout_ms`; returns
/// its id.
Result<UniqueId> start_root(int64_t timeout_ms);
/// Ends it, if it is in this process: no rank will join.
void end_root(const UniqueId& id);
/// The same, because rank `rank`, of this process, cannot join: the others get the cause.
void fail_root(const UniqueId& id, int rank, const Status& cause);

/// The unique id at one rank, and the handle that keeps it available to others until this rank has joined.
struct RendezvousResult {
  UniqueId id;
  std::shared_ptr<void> keep;  // rank 0's listeners or file, which go away with it
  Interrupt superseded;        // set if the id may be an earlier run's: fails once there is another one
};

/// What a launcher set in the environment: torchrun, rondo-run, Open MPI, MPICH or Slurm.
struct LauncherEnv {
  int rank = 0;
  int size = 1;
  std::optional<int> local_rank;
  std::optional<int> local_size;
  std::string master_host;     // empty: not given
  int master_port = 0;         // 0: not given
  bool agent_at_port = false;  // torchrun itself listens at master_port
  std::string job;             // a name that only this job's processes share; empty: not given
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

/// nullopt if no launcher is detected; InvalidArgument names a variable with an invalid value.
Result<std::optional<LauncherEnv>> read_launch();

/// The first host of a Slurm list such as "node[03-07,9],login1".
std::string first_slurm_host(const std::string& list);

}  // namespace rondo
