// SPDX-License-Identifier: Apache-2.0
// DeviceExecutor: runs a communicator's GPU collectives by the device executor: one launch executes a call's
// Program over FIFOs, in memory that GPUs share or relayed by the Proxy. For ranks on several hosts, or if a
// transport or an algorithm is requested. Runs one call at a time; used by the thread that makes calls,
// except as noted.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "algorithms/algorithm.h"
#include "base/clock.h"
#include "call/call.h"
#include "exec/proxy.h"
#include "exec/task.h"
#include "gpu/memory.h"
#include "gpu/stream.h"
#include "gpu_group/local_group.h"
#include "health/stall_detector.h"
#include "kernels/device_call.h"
#include "plan/device_tuning.h"
#include "transports/transport.h"

namespace rondo {

class DeviceChannels;
class DeviceProgram;

/// A LocalGroup::Issue; payloads are DeviceExecutors.
Status issue_device_executor(std::span<const LocalGroup::LocalCall> local_calls);

class DeviceExecutor final : public Task, public Proxy::ProxyClient {
 public:
  /// How to reach a peer for a lane's port: a Link for PeerMemory, or a Connection to relay over.
  struct Ways {
    std::function<bool(int peer)> shares_memory;
    std::function<Result<std::unique_ptr<Link>>(int peer, uint16_t port)> link;
    std::function<Result<Connection*>(int peer, uint16_t port)> connect;
  };
  /// Callbacks into the communicator. All but `ways` are also called on the proxy's thread.
  struct ExecutorHooks {
    Ways ways;
    std::function<bool()> failed;
    std::function<Status()> cause;  // of the failure
    std::function<void(const Status& cause)> fail;
    std::function<Status(int peer, const Signature& came)> mismatch;  // with this rank's latest call
    std::function<Status(bool last)>
        look;  // diagnoses a stalled call: Ok, a mismatch, or, if `last`, a timeout
    std::function<int64_t()> timeout_ms;  // the current deadline of calls
  };
  struct ExecutorSettings {
    int rank = 0;
    LinkModel links;
    int device = 0;
    int channels = 1;  // upper limit
    ConnectionParams params;
  };
  /// `run`: the rank's part in the local_group of its process, whose Issue is issue_device_executor().
  static Result<std::unique_ptr<DeviceExecutor>> make(const ExecutorSettings& settings, ExecutorHooks hooks,
                                                      LocalLaunch run);
  ~DeviceExecutor() override;

  /// The call must outlive the run.
  Status begin(const Call& call, const Algorithm& algorithm, const Execution& execution,
               const Signature& signature);

  Progress advance() override;
  Status status() const override { return failure_; }
  bool refused() const override { return refused_; }
  int blocked_on() const override;
  void abandon() override;

  /// Waits until the GPU has completed the latest call and all messages have been sent.
  Status drain(const Deadline& deadline);

  bool serve() override;

 private:
  /// Algorithm, root, varying, commutative, protocol, channels.
  using ProgramKey = std::tuple<const Algorithm*, int, bool, bool, device::Protocol, int>;
  /// The lengths and offsets of a _v call, in memory that the GPU reads.
  struct Tables {
    gpu::Memory memory;
    gpu::Event behind;      // recorded behind the call
    bool of_graph = false;  // used by a graph, which may be replayed at any time
    bool in_use = false;
  };
  DeviceExecutor(const ExecutorSettings& settings, ExecutorHooks hooks, LocalLaunch run);
  Result<DeviceProgram*> program(const Algorithm& algorithm, const Execution& execution, const Shape& shape);
  Status copy_tables(Layout& layout);
  Result<Tables*> free_tables(size_t bytes);
  friend Status issue_device_executor(std::span<const LocalGroup::LocalCall> local_calls);
  Status issued(gpu::Stream stream);

  Result<Progress> step();
  Status outcome();
  void report_mismatch();  // any thread

  // On the proxy's thread:
  void watch(bool moved);

  ExecutorSettings settings_;
  ExecutorHooks hooks_;
  gpu::Memory health_memory_;
  device::CallHealth* health_ = nullptr;  // in health_memory_, shared with the GPU
  std::map<ProgramKey, std::unique_ptr<DeviceProgram>> programs_;
  std::deque<Tables> tables_;
  Tables* tables_at_hand_ = nullptr;
  std::unique_ptr<DeviceChannels> channels_;
  LocalLaunch run_;
  const Call* asked_ = nullptr;
  DeviceCall call_;
  bool running_ = false;
  bool refused_ = false;
  Status failure_;

  std::mutex mutex_;        // guards peers_
  std::vector<int> peers_;  // by connection of the latest call's Program
  // Used only by the proxy's thread:
  bool busy_ = false;
  StallDetector stall_detector_;
  uint64_t last_seen_ = 0;
};

}  // namespace rondo
