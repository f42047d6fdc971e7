// SPDX-License-Identifier: Apache-2.0
// StepExecutor: the host executor. Carries out a Program over host memory, one Step at a time, for one call
// after another. CallArgs holds what differs between calls. Used by the thread that makes the call.
#pragma once

#include <vector>

#include "exec/call_args.h"
#include "exec/task.h"
#include "program.h"
#include "transports/hints.h"

namespace rondo {

class StepExecutor final : public Task {
 public:
  /// The Program must outlive the StepExecutor.
  explicit StepExecutor(const Program& program);
  /// Begins a call; discards what is left of the previous one.
  void begin(const CallArgs& binding);

  Progress advance() override;
  Status status() const override { return failure_; }
  int blocked_on() const override { return blocked_on_; }
  Awaited awaited() override;
  Status connection_status() const override;
  void abandon() override;

 private:
  struct LanePosition {
    size_t tile = 0;
    size_t step = 0;
    friend auto operator<=>(const LanePosition&, const LanePosition&) = default;
  };
  struct Operand {
    int member;              // of the receive set; this rank: the Step's own source
    Connection* connection;  // null unless it is a peer
    const std::byte* data;
    size_t bytes;
  };
  struct Target {
    Connection* connection;
    std::byte* slot;  // null: by reference
    FillHints::Filling filling = {};
    int64_t fill_ns = 0;
  };
  enum class StepOutcome { Done, Stuck, Failed };

  bool lane_done(size_t lane) const;
  bool waits_for_lane(const Step& step, size_t lane) const;
  StepOutcome try_step(size_t lane, const Step& step);
  size_t step_bytes(const Step& step, size_t tile) const;
  uint64_t step_elements(const Step& step) const;
  Ref sizing(const Step& step) const;
  StepOutcome block_on(int rank, const Connection& connection, Connection::Awaiting what);
  StepOutcome gather_operands(size_t lane, const Step& step, size_t bytes);
  StepOutcome reserve_targets(size_t lane, const Step& step, size_t bytes);
  void export_buffers();
  void export_memory(const std::byte* buffer);
  std::byte* start_of(Ref place, size_t tile) const;
  bool may_be_read(const Step& step) const;
  bool is_posted(const Connection& connection, const Step& step, const std::byte* value, size_t bytes) const;
  bool post(const Step& step, size_t tile, size_t bytes);
  std::byte* place_of_arrival(const Step& step, size_t tile, size_t bytes) const;
  bool takes_places(size_t lane, const Step& step) const;
  void expect_ahead(size_t lane);
  bool expect_message(size_t lane, const LanePosition& at);
  LanePosition after(size_t lane, LanePosition at) const;
  bool check(const Arrival& arrival, int peer, size_t bytes);
  bool streams(size_t lane) const;
  bool read_intact();
  void compute(size_t lane, const Step& step);
  void compute_piece(const Step& step, int index, const Piece& src, const Piece& dst, size_t slot_offset,
                     size_t bytes);
  void stream_piece(const FoldArgs& args, size_t slot_offset);
  void fill(Target& target, FoldArgs args, const std::byte* value, size_t slot_offset);
  const std::byte* fill_slots(const FoldArgs& args, const std::byte* value, size_t slot_offset);
  void hand_over(size_t bytes);
  std::byte* address(Buffer buffer, size_t offset) const;
  bool contiguous(const Step& step, size_t tile, Ref place) const;
  bool flush();

  const Program& program_;
  CallArgs binding_;
  std::vector<LanePosition> lanes_;
  std::vector<LanePosition> expected_;  // by lane: up to where connections know the places of messages
  // Of the current Step; members so that a Step allocates nothing.
  std::vector<Operand> operands_;
  std::vector<Target> targets_;
  std::vector<const void*> sources_;
  bool streams_ = false;
  Signature message_;
  Status failure_;
  bool is_exported_ = false;  // in this call
  int blocked_on_ = -1;
  const Connection* blocked_connection_ = nullptr;
  Connection::Awaiting blocked_for_ = Connection::Awaiting::Arrival;
};

}  // namespace rondo
