// GpuCalls: the calls of a communicator on GPU memory: which of the ways they go, alike at all ranks, and
// what each of these needs. Used by the thread that makes calls.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "comm/call_memo.h"
#include "comm/crew.h"
#include "comm/device_calls.h"
#include "comm/execution.h"
#include "comm/gpu_messages.h"
#include "comm/phased.h"

namespace rondo {

class GpuCalls {
 public:
  /// The communicator outlives it.
  static Result<std::unique_ptr<GpuCalls>> make(Communicator& communicator);

  /// Whether the process used CUDA when the communicator was made: otherwise no call asks what its pointers
  /// are.
  bool may_see_memory() const { return may_see_memory_; }
  /// Whether GPUs of several ranks use the buffers of each.
  bool share_buffers() const { return share_buffers_; }

  /// As Communicator::prepare().
  Result<Task*> prepare(const Call& call);
  /// Sends and receives, of a rank that has a GPU.
  GpuMessages& messages();
  /// Of calls that go between processes; null: none do.
  Phased* phased() { return phased_.get(); }

  /// Waits for what streams still have of this communicator.
  Status finish();
  /// Lets go of the communicator's connections.
  void disconnect();

 private:
  explicit GpuCalls(Communicator& communicator) : communicator_(communicator) {}
  Status plan();
  Status check_ranks() const;
  Status check_executor() const;
  bool reach_one_another() const;
  Status go_jointly();
  Status go_in_phases();
  std::shared_ptr<Crew> crew() const;
  Result<Task*> prepare_executor(const Call& call, Signature signature);
  Result<const Execution*> choose_execution(const Call& call);
  Result<DeviceCalls*> executor();
  DeviceLinks::Ways ways();
  Status late_or_different(const std::string& what, bool last);

  Communicator& communicator_;
  bool may_see_memory_ = false;
  bool share_buffers_ = false;
  bool shares_memory_ = false;  // with the ranks of the own host, for the executor
  std::vector<int> here_;       // the ranks of this process
  Status no_calls_;             // why there are none, if so
  Status no_executor_;          // why there are none by the device's executor
  ExecutionTerms terms_;
  std::array<CallMemo<Execution>, kCollectives> executions_;
  std::optional<CrewRun> joint_;
  std::unique_ptr<Phased> phased_;
  std::unique_ptr<DeviceCalls> executor_;  // made when first needed
  std::unique_ptr<GpuMessages> messages_;  // likewise
};

}  // namespace rondo
