// SPDX-License-Identifier: Apache-2.0
#include "bootstrap/membership.h"

#include "base/log.h"
#include "failure_notice.h"
#include "health/flight_file.h"

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
  if (record_failure(*state_, named)) {
    log().info("rank {}: {}", self_, named.text());
    session_->notify(FailureNotice::of_communicator(id_, named));
  }
  return state_->cause();
}

std::vector<int> Membership::gone_ranks() const {
  std::vector<int> gone;
  for (int rank = 0; rank < size(); ++rank)
    if (session_->is_gone(session_rank(rank))) gone.push_back(rank);
  return gone;
}

}  // namespace rondo
