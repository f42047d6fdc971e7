// SPDX-License-Identifier: Apache-2.0
// RondoBackend: the torch.distributed backend over Rondo's C API. It checks arguments in torch's terms,
// describes each call as a CollectiveCall, and passes that to the group's HostExecutor or to a GPU's stream.
// Any thread, in the order that torch requires of the ranks.
#pragma once

#include <ATen/ATen.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

#include "collective_call.h"
#include "elements.h"
#include "host_executor.h"
#include "ranks.h"

namespace rondo::torch_binding {

class RondoBackend final : public c10d::Backend {
 public:
  using Tensors = std::vector<at::Tensor>;
  using TensorLists = std::vector<Tensors>;
  using WorkPtr = c10::intrusive_ptr<c10d::Work>;

  /// Returns once all ranks of the group have joined. `global_ranks`: of the group, for profilers; may be
  /// empty.
  RondoBackend(c10::intrusive_ptr<c10d::Store> store, int rank, int size, std::chrono::milliseconds timeout,
               std::string group, std::vector<int64_t> global_ranks);
  ~RondoBackend() override;

  const std::string getBackendName() const override { return "rondo"; }
  /// A copy: before 2.14 splitGroup() writes the new group's name and timeout into it.
  c10::intrusive_ptr<Options> getBackendOptions() override { return c10::make_intrusive<Options>(*options_); }
  bool supportsSplitting() const override { return true; }
  bool supportsCoalescing() const override { return true; }
  uint64_t getSequenceNumberForGroup() override { return sequence_; }
  void setSequenceNumberForGroup() override {}  // all ranks begin at 0
  void setTimeout(std::chrono::milliseconds timeout) override;
  /// From then on works tell how long they took.
  void enableCollectivesTiming() override { is_timed_ = true; }
  c10d::ErrorType getError() override;
  c10::intrusive_ptr<Backend> split(const c10::intrusive_ptr<c10d::Store>& store,
                                    const std::vector<int>& ranks,
                                    const c10::intrusive_ptr<Options>& opts) override;
  void eagerConnectSingleDevice(at::Device device) override;
  /// Whether another rank of the group is on this host, in a process that shares memory with this one.
  bool shares_memory() const;
  void abort() override;
  void shutdown() override;
  /// Shuts down this process's remaining backends; called at process exit.
  static void shut_down_all();

  WorkPtr broadcast(Tensors& tensors, const c10d::BroadcastOptions& opts) override;
  WorkPtr allreduce(Tensors& tensors, const c10d::AllreduceOptions& opts) override;
  WorkPtr allreduce_sparse(Tensors& tensors, const c10d::AllreduceOptions& opts) override;
  WorkPtr allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& opts) override;
  WorkPtr reduce(Tensors& tensors, const c10d::ReduceOptions& opts) override;
  WorkPtr allgather(TensorLists& outputs, Tensors& inputs, const c10d::AllgatherOptions& opts) override;
  WorkPtr _allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions& opts) override;
  WorkPtr allgather_coalesced(TensorLists& outputs, Tensors& inputs,
                              const c10d::AllgatherOptions& opts) override;
  WorkPtr allgather_into_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::AllgatherOptions& opts) override;
  WorkPtr gather(TensorLists& outputs, Tensors& inputs, const c10d::GatherOptions& opts) override;
  // Not marked `override`: torch 2.11 does not have it.
  WorkPtr gather_single(at::Tensor& output, at::Tensor& input, const c10d::GatherOptions& opts);
  WorkPtr scatter(Tensors& outputs, TensorLists& inputs, const c10d::ScatterOptions& opts) override;
  WorkPtr reduce_scatter(Tensors& outputs, TensorLists& inputs,
                         const c10d::ReduceScatterOptions& opts) override;
  WorkPtr _reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                               const c10d::ReduceScatterOptions& opts) override;
  WorkPtr reduce_scatter_tensor_coalesced(Tensors& outputs, Tensors& inputs,
                                          const c10d::ReduceScatterOptions& opts) override;
  WorkPtr alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<int64_t>& output_splits,
                        std::vector<int64_t>& input_splits, const c10d::AllToAllOptions& opts) override;
  WorkPtr alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions& opts) override;
  WorkPtr barrier(const c10d::BarrierOptions& opts) override;
  void monitoredBarrier(const c10d::BarrierOptions& opts, bool wait_for_all) override;

  WorkPtr send(Tensors& tensors, int to, int tag) override;
  WorkPtr recv(Tensors& tensors, int from, int tag) override;
  WorkPtr recvAnysource(Tensors& tensors, int tag) override;
  void startCoalescing() override;
  WorkPtr endCoalescing() override;

 private:
  CollectiveCall job(c10d::OpType type, const char* title, Tensors inputs, Tensors outputs,
                     std::chrono::milliseconds timeout, bool async) const;
  /// The ranks of a call that is about to be made; throws if the group has been shut down.
  const std::shared_ptr<Ranks>& ranks() const;
  WorkPtr submit(CollectiveCall job);
  /// Makes the call by `start`, and tells torch's profilers its parameters if any of them runs.
  WorkPtr recorded(const CollectiveCall& job, const std::function<WorkPtr()>& start);
  WorkPtr submit_on_device(std::vector<CollectiveCall> jobs);
  /// The stream of a device call: the caller's own if the caller waits for the call.
  c10::Stream stream_for(const CollectiveCall& job);
  WorkPtr submit_message(bool sends, const at::Tensor& tensor, int peer, int tag);
  CollectiveCall device_message(bool sends, CollectiveCall job, const at::Tensor& memory, int peer,
                                int tag) const;
  WorkPtr gather_parts(const Tensors& outputs, const at::Tensor& input, const c10d::GatherOptions& opts);

  /// The calls between startCoalescing() and endCoalescing().
  struct Coalesced {
    std::vector<WorkPtr> started;
    std::vector<CollectiveCall> on_device;
  };

  c10::intrusive_ptr<c10d::Store> store_;
  c10::intrusive_ptr<Options> options_;
  std::string group_;
  std::vector<int64_t> global_ranks_;
  std::atomic<bool> is_timed_{false};
  std::shared_ptr<Ranks> ranks_;
  const std::shared_ptr<HostExecutor> lane_ = std::make_shared<HostExecutor>();
  std::atomic<uint64_t> sequence_{0};
  uint64_t monitored_barriers_ = 0;
  std::optional<Coalesced> coalesced_;
  std::map<std::pair<c10::DeviceIndex, int>, c10::Stream>
      streams_;  // by device and message direction (0: collectives)
};

}  // namespace rondo::torch_binding
