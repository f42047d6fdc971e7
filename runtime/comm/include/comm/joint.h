// Joint: how ranks of one process, each with a GPU, make a collective together. The last of them to come to a
// call launches it for all, with events before and after, so that every rank's stream sees its order and no
// kernel waits for another. Any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "comm/call.h"
#include "comm/joint_folds.h"
#include "exec/task.h"
#include "gpu/stream.h"

namespace rondo {

class Joint {
 public:
  static constexpr int kMostRanks = static_cast<int>(DeviceFolds::kMostSources);

  /// What the ranks of a communicator of this process share; each asks for it once.
  static std::shared_ptr<Joint> of(uint64_t session, uint64_t communicator, int nranks);

  /// A rank's part of one call.
  struct Seat {
    const Call* call = nullptr;  // null: not there yet
    Signature signature;
    int device = 0;
    gpu::Stream stream = nullptr;
    gpu::Event* event = nullptr;  // the rank's own, for what its stream has to wait for and be waited for
  };
  /// One call of all ranks.
  struct Meeting {
    std::vector<Seat> seats;
    int arrived = 0;
    bool closed = false;            // all have come; whoever closed it launches
    std::atomic<bool> over{false};  // launched, or not: see outcome
    Status outcome;
  };
  /// Takes the rank's place in the call that is being gathered. Who comes last launches it for all.
  std::shared_ptr<Meeting> arrive(int rank, const Seat& seat);
  /// Gives the place up, because the rank's call has failed; false where that is too late.
  bool leave(int rank, Meeting& meeting);
  /// The first rank that has not come; -1: none.
  int missing(const Meeting& meeting);

 private:
  explicit Joint(int nranks) : nranks_(nranks) {}
  std::mutex mutex_;
  int nranks_;
  std::shared_ptr<Meeting> gathering_;
};

/// One rank's calls by its communicator's Joint, one after the other.
class JointRun final : public Task {
 public:
  JointRun(std::shared_ptr<Joint> joint, int rank, int device)
      : joint_(std::move(joint)), rank_(rank), device_(device) {}

  /// The call outlives the run. Where it is on no CUDA stream, the run ends when the GPU has done it.
  Status begin(const Call& call, const Signature& signature);

  Progress advance() override;
  Status status() const override { return failure_; }
  bool refused() const override { return failure_.code() == Code::InvalidUsage; }
  int blocked_on() const override;
  void abandon() override;

 private:
  Progress fail(const Status& cause);

  std::shared_ptr<Joint> joint_;
  int rank_;
  int device_;
  Joint::Seat seat_;
  bool waits_ = false;
  bool launched_ = false;
  gpu::Event event_;
  bool has_event_ = false;
  std::shared_ptr<Joint::Meeting> meeting_;
  Status failure_;
};

}  // namespace rondo
