// SPDX-License-Identifier: Apache-2.0
// PointToPointTask: drives the sends and receives of one call or group to completion.
#pragma once

#include <memory>
#include <vector>

#include "p2p/point_to_point.h"

namespace rondo {

class PointToPointTask final : public Task {
 public:
  explicit PointToPointTask(PointToPoint& engine) : engine_(engine) {}
  void add(std::shared_ptr<SendRequest> request) { sends_.push_back(std::move(request)); }
  void add(std::shared_ptr<RecvRequest> request) { recvs_.push_back(std::move(request)); }

  Progress advance() override;
  Status status() const override { return failure_; }
  int blocked_on() const override;
  Awaited awaited() override;
  Status connection_status() const override;
  void abandon() override;
  /// Differs from an earlier value if some of the requests have progressed since.
  uint64_t steps() const;
  /// The requests that are not done.
  PendingMessages pending() const;

 private:
  template <typename Requests>
  Awaited awaited_by(const Requests& requests) const;
  Status start();

  PointToPoint& engine_;
  std::vector<std::shared_ptr<SendRequest>> sends_;
  std::vector<std::shared_ptr<RecvRequest>> recvs_;
  bool started_ = false;
  Status failure_;
};

}  // namespace rondo
