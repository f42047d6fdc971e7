// SPDX-License-Identifier: Apache-2.0
// A symbolic run of a collective over all ranks: FIFOs of bounded depth between lanes, expressions instead of
// numbers. Used by the verifier, on its thread.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "expressions.h"
#include "schedule/verifier.h"
#include "symbolic_memory.h"

namespace rondo {

class SymbolicRun {
 public:
  /// The schedules have passed check_structure() and outlive the run.
  SymbolicRun(const Shape& shape, const std::vector<Schedule>& ranks, const VerifyOptions& options);

  /// Runs all Steps of all tiles.
  Status run();

  /// After run(): checks that all results are correct and no message is left over.
  Status check_results() const;

  /// "((0+1)+2)" of an output chunk in the first tile; "" if it was not written.
  std::string association(int rank, int chunk) const;
  /// The formulas of all results of the first tile.
  std::vector<Formula> formulas(const FormulaStyle& style) const;

 private:
  struct SymbolicMessage {
    int tile = 0;
    std::vector<ExpressionId> values;
    Clock clock;
    std::vector<bool> heard;
  };
  struct SymbolicLane {
    size_t rank = 0;
    size_t lane = 0;
    size_t index = 0;  // HappensBefore's index of the lane
    int tile = 0;
    size_t step = 0;
  };
  /// What a Step waits for, and from which rank or lane.
  struct Obstacle {
    enum class What { Nothing, Data, Room, Lane };
    What what = What::Nothing;
    size_t other = 0;  // a rank; for Lane, a lane of the own rank
  };
  using Values = std::vector<ExpressionId>;
  /// Keys are multiples of large powers of two, which the standard hash would put into few buckets.
  struct MixedHash {
    size_t operator()(size_t key) const {
      const size_t mixed = key * 0x9e3779b97f4a7c15u;
      return mixed ^ mixed >> 32;
    }
  };

  const Schedule& schedule(const SymbolicLane& at) const { return ranks_[at.rank]; }
  const Lane& lane(const SymbolicLane& at) const { return schedule(at).lanes[at.lane]; }
  const Step& step(const SymbolicLane& at) const { return lane(at).steps[at.step]; }
  bool done(const SymbolicLane& at) const { return at.tile >= options_.tiles || lane(at).steps.empty(); }
  const std::vector<int>& peers(const SymbolicLane& at, uint16_t set) const;
  std::vector<SymbolicMessage>& fifo(size_t from, size_t to, uint16_t port);
  std::vector<SymbolicMessage>& from(int peer, const SymbolicLane& at) {
    return fifo(index(peer), at.rank, lane(at).port);
  }
  std::vector<SymbolicMessage>& to(int peer, const SymbolicLane& at) {
    return fifo(at.rank, index(peer), lane(at).port);
  }
  /// Of a Step of a lane in a tile, in clocks_.
  size_t clock_key(size_t lane, size_t tile, size_t step) const {
    return (lane * static_cast<size_t>(options_.tiles) + tile) << 16 | step;
  }
  static size_t index(int rank) { return static_cast<size_t>(rank); }

  void find_waits();
  bool has_bytes(const SymbolicLane& at, Ref ref) const;
  bool left_out(const SymbolicLane& at) const;
  Obstacle obstacle(const SymbolicLane& at);
  Status check_limits() const;
  Status execute(SymbolicLane& at);
  void learn_from_lane(const SymbolicLane& at);
  void learn_from_messages(const SymbolicLane& at);
  void hear(const SymbolicLane& at, const std::vector<bool>& ranks);
  Result<Values> value_of(const SymbolicLane& at, const SymbolicMemory::Access& access);
  Result<Values> read(const SymbolicLane& at, Ref first, const SymbolicMemory::Access& access);
  Result<Values> operand(const SymbolicLane& at, int member, const Values& own,
                         const SymbolicMemory::Access& access);
  Result<Values> fold(const SymbolicLane& at, const Values& own, const SymbolicMemory::Access& access);
  std::vector<Ref> own_operands(const SymbolicLane& at) const;
  Status store(const SymbolicLane& at, const Values& value, const SymbolicMemory::Access& access);
  void hand_over(const SymbolicLane& at, const Values& value);
  void go_on(SymbolicLane& at);
  void wake_others(const SymbolicLane& at);

  Status deadlock();
  std::string explain(const SymbolicLane& at, const Obstacle& why) const;
  Status check_output(int rank, int tile, int chunk) const;
  Status check_left_over() const;
  Status check_heard() const;

  Shape shape_;
  const std::vector<Schedule>& ranks_;
  VerifyOptions options_;
  Expressions expressions_;
  HappensBefore order_;
  std::vector<SymbolicMemory> memory_;
  std::vector<SymbolicLane> lanes_;
  template <typename Value>
  using ByKey = std::unordered_map<size_t, Value, MixedHash>;
  ByKey<std::vector<SymbolicMessage>> fifos_;      // by (from * nranks + to) << 16 | port
  ByKey<size_t> lane_of_port_;                     // by rank << 16 | port
  std::vector<std::vector<size_t>> waiters_;       // by lane: lanes that wait for Steps of it
  std::vector<bool> can_go_on_;                    // by lane: something that it may wait for has happened
  std::unordered_set<size_t, MixedHash> awaited_;  // lane << 16 | step: others wait for it
  ByKey<Clock> clocks_;                            // after these, by clock_key()
  int64_t kept_ = 0;                               // entries of these clocks
  std::vector<std::vector<bool>> heard_;  // barrier: [lane * tiles + tile]: ranks known to have entered
};

}  // namespace rondo
