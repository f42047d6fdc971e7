#include "comm/shared_calls.h"

namespace rondo {

SharedCalls::SharedCalls(const CommonMemory::Parties& parties)
    : self_(parties.self),
      nranks_(static_cast<int>(parties.ranks.size())),
      memory_(parties, PostTable::bytes(nranks_)) {}

const Rounds& SharedCalls::plan(const Algorithm& algorithm, const Shape& shape) {
  const PlanKey key{&algorithm, shape.root, shape.commutative};
  auto found = plans_.find(key);
  if (found == plans_.end())
    found = plans_.emplace(key, rounds_of(shape.kind, algorithm.build(shape, self_))).first;
  return found->second;
}

Task* SharedCalls::begin(const ExchangeCall& made) {
  latest_ = &made;
  if (!exchange_) return this;
  exchange_->begin(made);
  return &*exchange_;
}

Progress SharedCalls::advance() {
  if (!failure_.ok()) return Progress::Failed;
  if (!exchange_) {
    const auto there = memory_.advance();
    if (!there.ok()) {
      failure_ = there.status();
      return Progress::Failed;
    }
    if (!there.value()) return Progress::Stuck;
    exchange_.emplace(PostTable(memory_.data(), nranks_), self_, nranks_);
    exchange_->begin(*latest_);
  }
  return exchange_->advance();
}

}  // namespace rondo
