// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/membership.h"

#include "base/log.h"
#include "failure_notice.h"

namespace rondo {

Membership::Membership(std::shared_ptr<Session> session, uint64_t id, std::vector<int> ranks, int self,
                       const std::string& name, int64_t timeout_ms)
    : session_(std::move(session)),
      id_(id),
      ranks_(std::move(ranks)),
      self_(self),
      recorder_(std::make_shared<FlightRecorder>(name)),
      timeout_ms_(timeout_ms) {}

Status Membership::fail(const Status& cause) {
  const bool is_own = cause.code() == Code::SystemError || cause.code() == Code::OutOfMemory;
  const Status named = recorder_->named(is_own ? cause.within(rank_text(self_)) : cause);
  if (state_->fail(named)) {
    log().info("rank {}: {}", self_, named.message());
    session_->notify(FailureNotice::of_communicator(id_, named));
  }
  return state_->cause();
}

}  // namespace rondo
