// SPDX-License-Identifier: Apache-2.0
// GpuCalls: a communicator's calls on GPU memory: which executors are available, the same at all ranks, and
// what each of them needs. Used by the thread that makes calls.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "gpu_connections/device_executor.h"
#include "gpu_group/local_group.h"
#include "gpu_staged/staged_executor.h"
#include "p2p/gpu_messages.h"
#include "plan/device_tuning.h"
#include "plan/executor.h"
#include "plan/gpu_costs.h"

namespace rondo {

class Communicator;

class GpuCalls {
 public:
  /// The communicator must outlive it.
  static Result<std::unique_ptr<GpuCalls>> make(Communicator& communicator);

  /// Whether this rank has a GPU, or the process used CUDA when the communicator was made; otherwise no call
  /// queries what its pointers point to.
  bool may_see_memory() const { return may_see_memory_; }
  /// Whether GPUs of several ranks use the buffers of each.
  bool share_buffers() const { return share_buffers_; }

  /// Why the communicator cannot make calls on GPU memory; Ok: it can.
  const Status& no_calls() const { return no_calls_; }
  /// In order of preference. The rows and all plans must not outlive it.
  std::vector<Executor> executors();
  /// Sends and receives; only for a rank with a GPU.
  GpuMessages& messages();
  /// For calls between processes of one host; null if unused.
  StagedExecutor* staged() { return staged_.get(); }

  /// Waits until the communicator's work on streams is done.
  Status finish();
  /// Releases the communicator's connections.
  void disconnect();

 private:
  explicit GpuCalls(Communicator& communicator) : communicator_(communicator) {}
  Status plan();
  Status check_ranks() const;
  Status check_executor() const;
  bool reach_one_another() const;
  Status go_direct();
  Status go_staged();
  std::shared_ptr<LocalGroup> local_group() const;
  bool links_decide() const;
  GpuCosts* costs();
  template <auto kStart>
  Executor row(const char* name);
  double staged_us(const Call& call);
  Prediction predict(const Algorithm& algorithm, const Call& call, const Shape& shape);
  std::vector<const Algorithm*> found(const Call& call, const Shape& shape);
  Executor connections_row();
  Result<Task*> start_direct(const Call& call, const Signature& signature);
  Result<Task*> start_staged(const Call& call, const Signature& signature);
  Result<Task*> start_over_connections(const Call& call, const Algorithm& algorithm,
                                       const Execution& execution, const Signature& signature);
  Result<DeviceExecutor*> executor();
  DeviceExecutor::Ways ways();
  Status look_into(const std::string& what, const PendingWait& wait, bool last);

  Communicator& communicator_;
  bool may_see_memory_ = false;
  bool share_buffers_ = false;
  bool shares_memory_ = false;  // the device executor shares memory with ranks of this host
  std::vector<int> here_;       // the ranks of this process
  Status no_calls_;             // not Ok: why calls are impossible
  Status no_executor_;          // not Ok: why the device executor is impossible
  ExecutionTerms terms_;
  bool competes_ = false;  // the links of the host may decide between executors
  std::optional<GpuCosts> costs_;
  bool looked_for_costs_ = false;
  std::optional<LocalLaunch> direct_;
  std::unique_ptr<StagedExecutor> staged_;
  std::unique_ptr<DeviceExecutor> executor_;  // made on first use
  std::unique_ptr<GpuMessages> messages_;     // made on first use
};

}  // namespace rondo
