// Crew: the ranks of a communicator that live in this process and make GPU calls together. The last of them
// to come to a call issues it for all, with events before and after, so that every rank's stream sees its
// order and ranks that share a GPU share what is launched on it. Any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "comm/call.h"
#include "exec/task.h"
#include "gpu/stream.h"

namespace rondo {

class Crew {
 public:
  /// What the crew of a communicator shares; each of its `size` ranks asks for it once.
  static std::shared_ptr<Crew> of(uint64_t session, uint64_t communicator, size_t size);

  /// A rank's part of one call.
  struct Seat {
    const Call* call = nullptr;  // null: not there yet
    Signature signature;
    int rank = 0;  // of the communicator
    int device = 0;
    gpu::Stream stream = nullptr;
    gpu::Event* event = nullptr;    // the rank's own, for what its stream has to wait for and be waited for
    const void* payload = nullptr;  // what `issue` needs of this rank
  };
  /// Issues one call for all ranks. On InvalidUsage nothing was enqueued.
  using Issue = Status (*)(std::span<const Seat> seats);

  /// One call of all ranks.
  struct Meeting {
    std::vector<Seat> seats;  // by place in the crew
    size_t arrived = 0;
    bool closed = false;            // all have come; whoever came last issues
    std::atomic<bool> over{false};  // issued, or not: see outcome
    Status outcome;
  };
  /// Adds this rank to the call that is being gathered. The last rank to arrive issues it for all.
  std::shared_ptr<Meeting> arrive(size_t place, const Seat& seat, Issue issue);
  /// Gives the place up, because the rank's call has failed; false where that is too late.
  bool leave(size_t place, Meeting& meeting);
  /// Index of a rank that has not arrived yet; size() if all have.
  size_t missing(const Meeting& meeting);

 private:
  explicit Crew(size_t size) : size_(size) {}
  std::mutex mutex_;
  size_t size_;
  std::shared_ptr<Meeting> gathering_;
};

/// MISMATCH where seats make different calls, InvalidUsage where some streams are captured into a graph and
/// others are not, or not into the same.
Status check_seats(std::span<const Crew::Seat> seats);

/// Calls `body` with a seat of each device, whose stream stands for all of that device: what body issues to
/// it comes after what all seats' streams had before, and before what they get afterwards.
Status issue_in_order(std::span<const Crew::Seat> seats,
                      const std::function<Status(std::span<const Crew::Seat> leaders)>& body);

/// One rank's calls with its crew, one after the other.
class CrewRun final : public Task {
 public:
  /// `ranks`: the crew's, by their places; `rank` is one of them.
  CrewRun(std::shared_ptr<Crew> crew, std::vector<int> ranks, int rank, int device, Crew::Issue issue);

  /// The call and what the payload points to outlive the run. Where the call is on no CUDA stream, the run
  /// ends when the GPU has done it.
  Status begin(const Call& call, const Signature& signature, const void* payload);

  /// Whether the GPU has done the latest call; only of calls with a payload.
  bool drained() const;

  Progress advance() override;
  Status status() const override { return failure_; }
  bool refused() const override { return failure_.code() == Code::InvalidUsage; }
  int blocked_on() const override;
  void abandon() override;

 private:
  Progress fail(const Status& cause);

  std::shared_ptr<Crew> crew_;
  std::vector<int> ranks_;
  size_t place_;
  Crew::Issue issue_;
  Crew::Seat seat_;
  gpu::Event event_;
  bool has_event_ = false;
  bool waits_ = false;
  bool marked_ = false;  // the event stands behind the call
  std::shared_ptr<Crew::Meeting> meeting_;
  Status failure_;
};

}  // namespace rondo
