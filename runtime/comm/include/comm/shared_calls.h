// SharedCalls: a communicator's short collectives, where all its ranks are on one host: they go through
// memory that all of them see, which the first such call brings to them. Used by the thread that makes the
// calls.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "algorithms/algorithm.h"
#include "comm/common_memory.h"
#include "exec/exchange.h"

namespace rondo {

class SharedCalls final : public Task {
 public:
  explicit SharedCalls(const CommonMemory::Parties& parties);

  /// What an algorithm of rounds means for this rank.
  const Rounds& plan(const Algorithm& algorithm, const Shape& shape);
  /// Begins the call, which has its Signature and its buffers; it stays where it is. The task is good until
  /// the next one.
  Task* begin(const ExchangeCall& made);

  Progress advance() override;
  Status status() const override { return failure_.ok() && exchange_ ? exchange_->status() : failure_; }
  int blocked_on() const override { return exchange_ ? exchange_->blocked_on() : memory_.blocked_on(); }
  Awaited awaited() override { return exchange_ ? exchange_->awaited() : Awaited(); }
  void linger() const override {
    if (exchange_) exchange_->linger();
  }
  bool may_block_others(bool crowded) override { return !exchange_ || exchange_->may_block_others(crowded); }
  Status connection_status() const override { return exchange_ ? exchange_->connection_status() : Status(); }

  /// Names a call that another rank made and this one never did; Ok where there is none.
  Status check_nothing_left() const { return exchange_ ? exchange_->check_nothing_left() : Status(); }

 private:
  using PlanKey = std::tuple<const Algorithm*, int, bool>;  // root, commutative
  int self_;
  int nranks_;
  CommonMemory memory_;
  std::optional<Exchange> exchange_;  // once there is memory
  std::map<PlanKey, Rounds> plans_;
  const ExchangeCall* latest_ = nullptr;
  Status failure_;
};

}  // namespace rondo
