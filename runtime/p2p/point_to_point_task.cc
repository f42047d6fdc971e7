// SPDX-License-Identifier: Apache-2.0
#include "p2p/point_to_point_task.h"

#include <algorithm>

namespace rondo {

Status PointToPointTask::start() {
  started_ = true;
  for (const auto& request : recvs_) RONDO_TRY(engine_.start(request));
  for (const auto& request : sends_) RONDO_TRY(engine_.start(request));
  return {};
}

Progress PointToPointTask::advance() {
  const std::lock_guard lock(engine_.mutex());
  if (!started_) failure_ = start();
  const bool moved = failure_.ok() && engine_.progress();
  if (failure_.ok()) failure_ = engine_.status();
  if (!failure_.ok()) return Progress::Failed;
  const auto done = [](const auto& request) { return request->done; };
  if (std::all_of(sends_.begin(), sends_.end(), done) && std::all_of(recvs_.begin(), recvs_.end(), done))
    return Progress::Done;
  return moved ? Progress::Moved : Progress::Stuck;
}

/// The first known wait target.
Awaited PointToPointTask::awaited() {
  const std::lock_guard lock(engine_.mutex());
  const Awaited to_come = awaited_by(recvs_);
  return is_known(to_come) ? to_come : awaited_by(sends_);
}

template <typename Requests>
Awaited PointToPointTask::awaited_by(const Requests& requests) const {
  for (const auto& request : requests)
    if (Awaited awaited = request->done ? Awaited() : engine_.awaited(*request); is_known(awaited))
      return awaited;
  return {};
}

Status PointToPointTask::connection_status() const {
  const std::lock_guard lock(engine_.mutex());
  return engine_.connection_status();
}

void PointToPointTask::abandon() {
  const std::lock_guard lock(engine_.mutex());
  for (const auto& request : sends_) engine_.abandon(*request);
  for (const auto& request : recvs_) engine_.abandon(*request);
}

uint64_t PointToPointTask::steps() const {
  const std::lock_guard lock(engine_.mutex());
  uint64_t steps = 0;
  for (const auto& request : sends_)
    steps += request->sent + (request->granted ? 1 : 0) + (request->done ? 1 : 0);
  for (const auto& request : recvs_)
    steps += request->arrived + (request->id != 0 ? 1 : 0) + (request->done ? 1 : 0);
  return steps;
}

PendingMessages PointToPointTask::pending() const {
  const std::lock_guard lock(engine_.mutex());
  PendingMessages pending;
  for (const auto& request : recvs_)
    if (!request->done) pending.receives.add({request->peer, request->tag});
  for (const auto& request : sends_)
    if (!request->done) pending.sends.add({request->peer, request->tag});
  engine_.note_unasked(pending);
  return pending;
}

int PointToPointTask::blocked_on() const {
  const std::lock_guard lock(engine_.mutex());
  for (const auto& request : recvs_)
    if (!request->done) return request->peer;
  for (const auto& request : sends_)
    if (!request->done) return request->peer;
  return -1;
}

}  // namespace rondo
