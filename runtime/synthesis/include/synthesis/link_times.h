// SPDX-License-Identifier: Apache-2.0
// LinkTimes: how long calls on the memory of a host's GPUs keep the links between them busy. Predictions.
// Immutable; any thread.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "schedule/schedule.h"
#include "schedule/simulator.h"
#include "synthesis/found_plans.h"

namespace rondo {

class LinkTimes {
 public:
  /// Of ranks on different GPUs of a host. What one sends to another takes the best path through no other
  /// GPU, as none forwards bytes unless a plan says so. Unsupported if ranks share a GPU, or two of them have
  /// no path; other errors as of FoundPlans::find().
  static Result<LinkTimes> of(const RanksOfMachine& ranks);

  int nranks() const;

  /// How long the busiest link takes, in us for each byte of the vector, which is the longer of a rank's
  /// input and output, if each rank sends `volume(from, to)` vectors to each other.
  double us_per_byte(const std::function<double(int from, int to)>& volume) const;
  /// The same of a plan's messages. `ranks`: the Schedules of all.
  double us_per_byte(const std::vector<Schedule>& ranks) const;
  /// The least that a plan takes on the links that plans use: see fabric_or_all().
  double least_us_per_byte(CollectiveKind kind, int root) const;

 private:
  struct Machine;
  explicit LinkTimes(std::shared_ptr<const Machine> machine) : machine_(std::move(machine)) {}
  double of_busiest(const std::vector<double>& loads) const;

  std::shared_ptr<const Machine> machine_;
};

}  // namespace rondo
