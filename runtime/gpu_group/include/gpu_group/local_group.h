// SPDX-License-Identifier: Apache-2.0
// LocalGroup: the ranks of a communicator that live in this process and make GPU calls together. The last
// rank to arrive at a call issues it for all, with events before and after, so that every rank's stream keeps
// its order and ranks that share a GPU share its launches. Any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "call/call.h"
#include "exec/task.h"
#include "gpu/stream.h"

namespace rondo {

class LocalGroup {
 public:
  /// The group shared by the communicator's `size` ranks in this process; each of them calls this once.
  static std::shared_ptr<LocalGroup> of(uint64_t session, uint64_t communicator, size_t size);

  /// A rank's part of one call.
  struct LocalCall {
    const Call* call = nullptr;  // null: not arrived yet
    Signature signature;
    int rank = 0;  // of the communicator
    int device = 0;
    gpu::Stream stream = nullptr;
    gpu::Event* event = nullptr;    // the rank's own, to order its stream and the others
    const void* payload = nullptr;  // this rank's data for Issue
  };
  /// Issues one call for all ranks, which all make the same. On InvalidUsage nothing was enqueued.
  using Issue = Status (*)(std::span<const LocalCall> local_calls);

  /// One call of all ranks.
  struct LaunchBatch {
    std::vector<LocalCall> local_calls;  // by place in the local_group
    size_t arrived = 0;
    bool closed = false;            // all have arrived; the last one issues
    std::atomic<bool> over{false};  // issued or failed: see outcome
    Status outcome;
  };
  /// Adds this rank to the call that is being gathered. The last rank to arrive issues it for all.
  std::shared_ptr<LaunchBatch> arrive(size_t place, const LocalCall& local_call, Issue issue);
  /// Withdraws the rank's part, because its call has failed; false if it is too late.
  bool leave(size_t place, LaunchBatch& batch);
  /// Index of a rank that has not arrived yet; size() if all have.
  size_t missing(const LaunchBatch& batch);

 private:
  explicit LocalGroup(size_t size) : size_(size) {}
  std::mutex mutex_;
  size_t size_;
  std::shared_ptr<LaunchBatch> next_batch_;
};

/// The graph that the stream is captured into; 0: none.
Result<uint64_t> graph_of(const LocalGroup::LocalCall& local_call);

/// InvalidUsage unless all streams are captured into the same graph or none is captured, as what is issued
/// together, and the events that it waits for, must be. `ranks`: whose streams they are.
Status check_one_graph(std::span<const LocalGroup::LocalCall> local_calls,
                       const char* ranks = "ranks of one process");

/// Calls `body` with one leader per device. The streams are in one graph or in none. What body issues to the
/// leaders' streams runs after all earlier work and before all later work of every stream in `local_calls`.
Status issue_in_order(std::span<const LocalGroup::LocalCall> local_calls,
                      const std::function<Status(std::span<const LocalGroup::LocalCall> leaders)>& body);

/// One rank's calls with its local_group, one at a time.
class LocalLaunch final : public Task {
 public:
  /// `ranks`: those of the local_group, by place; `rank` is one of them.
  LocalLaunch(std::shared_ptr<LocalGroup> local_group, std::vector<int> ranks, int rank, int device,
              LocalGroup::Issue issue);

  /// The call and the payload must outlive the run. If the call is on no CUDA stream, the run ends once the
  /// GPU has completed it.
  Status begin(const Call& call, const Signature& signature, const void* payload);

  /// Whether the GPU has completed the latest call; only for calls with a payload.
  bool drained() const;

  Progress advance() override;
  Status status() const override { return failure_; }
  bool refused() const override { return failure_.code() == Code::InvalidUsage; }
  int blocked_on() const override;
  void abandon() override;

 private:
  Progress fail(const Status& cause);

  std::shared_ptr<LocalGroup> local_group_;
  std::vector<int> ranks_;
  size_t place_;
  LocalGroup::Issue issue_;
  LocalGroup::LocalCall local_call_;
  gpu::Event event_;
  bool has_event_ = false;
  bool waits_ = false;
  bool marked_ = false;  // the event is recorded behind the call
  std::shared_ptr<LocalGroup::LaunchBatch> batch_;
  Status failure_;
};

}  // namespace rondo
