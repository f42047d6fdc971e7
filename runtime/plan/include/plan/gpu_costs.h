// SPDX-License-Identifier: Apache-2.0
// GpuCosts: how long a communicator's calls on GPU memory take by the executors that there are, on the links
// of their host. All ranks compute the same if they describe the host alike. Predictions: no host with
// several GPUs was measured. Used by the thread that makes calls.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "plan/device_tuning.h"
#include "synthesis/found_plans.h"
#include "synthesis/link_times.h"

namespace rondo {

class GpuCosts {
 public:
  GpuCosts(LinkTimes links, std::shared_ptr<FoundPlans> found_plans)
      : links_(std::move(links)), found_plans_(std::move(found_plans)) {}

  /// Of a call in which each rank's GPU sends `volume(from, to)` vectors to each other. 0 if only some ranks
  /// know how long it is.
  double us(const Call& call, const std::function<double(int from, int to)>& volume) const;

  /// By the executor over connections. `ranks`: how those of the communicator are connected.
  Prediction over_connections(const Algorithm& algorithm, const Call& call, const Shape& shape,
                              const LinkModel& ranks, const ExecutionTerms& terms);

  /// The algorithms by the links of the host that a call may be faster by than in `other_us`; none if no plan
  /// can be.
  std::vector<const Algorithm*> found(const Call& call, const Shape& shape, double other_us);

 private:
  /// What does not depend on a call's length.
  struct LinkedPlan {
    double link_us_per_byte = 0;
    double vectors = 0;  // through the busiest GPU, in one direction
    int lanes = 1;
    int fit = 0;  // channels; 0: it cannot run
  };
  const LinkedPlan& linked(const Algorithm& algorithm, const Shape& shape, const ExecutionTerms& terms);
  double least_us_per_byte(const Shape& shape);

  LinkTimes links_;
  std::shared_ptr<FoundPlans> found_plans_;
  std::map<std::tuple<const Algorithm*, int, bool>, LinkedPlan> plans_;  // and by root, whether commutative
  std::map<std::pair<CollectiveKind, int>, double> least_;               // by root
};

}  // namespace rondo
